"""Pulumi's engine as far as a program sees it: it records what is declared, whole.

A subclass of the SDK's own mock monitor, which is internal to it: `pulumi/requirements.txt` pins
the version. What a resource becomes is a `FakeProvider`'s business; one whose type it does not
know is an error, not an empty answer.
"""

from __future__ import annotations

import asyncio
import os
import runpy
import shutil
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pulumi
from google.protobuf import empty_pb2
from pulumi.output import Unknown
from pulumi.runtime import mocks, rpc, settings
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.stack import run_in_stack
from pulumi.runtime.sync_await import _ensure_event_loop, _sync_await
from tests import fake_stack

PROJECT = "fireflyer-replica"
PROGRAM = Path(__file__).parents[2] / "pulumi" / "__main__.py"
# An alias is how the engine finds what a resource was in an older state; there is none here, and
# azure-native has one for each version of a type's API: the greater part of a run's time.
setattr(sys.modules["pulumi.resource"], "collapse_alias_to_urn", lambda *_: "")  # noqa: B010
UNKNOWN = "<unknown>"
SECRET = "<secret>"


class FakeProvider(Protocol):
    """What makes resources: ids out of the air, or calls to an emulator."""

    def create(self, kind: str, name: str, inputs: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the id and the outputs of a new resource."""

    def call(self, token: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a question."""

    def delete(self, kind: str, identity: str, outputs: Mapping[str, Any]) -> None:
        """Remove a resource."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A resource as the program declared it."""

    kind: str
    name: str
    """In its replica: without the name of that, which it begins with."""
    replica: str
    urn: str
    parent: str
    custom: bool
    provider: str
    inputs: Mapping[str, Any]
    """Values not known yet are `UNKNOWN`, secrets are `SECRET`."""
    dependencies: frozenset[str]
    delete_first: bool
    """Before its replacement is made."""
    id: str
    outputs: Mapping[str, Any]


@dataclass
class Graph:
    """Everything a run declared, in order, and what the stack exports."""

    resources: list[Declared] = field(default_factory=list)
    outputs: dict[str, Any] = field(default_factory=dict)
    questions: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    """What the program asked the provider."""

    def of(self, kind: str) -> Iterator[Declared]:
        """Yield the resources of a type, such as `aws:ec2/vpc:Vpc`."""
        return (found for found in self.resources if found.kind == kind)

    def of_replica(self, name: str) -> Graph:
        """Return what belongs to one replica of several."""
        return Graph([found for found in self.resources if found.replica == name])

    def one(self, kind: str, name: str | None = None) -> Declared:
        """Return the only resource of a type, or the one with a name."""
        (found,) = (r for r in self.of(kind) if name in (None, r.name))
        return found

    def before(self, found: Declared) -> set[str]:
        """Return the URNs of what is there before a resource is made."""
        by_urn = {resource.urn: resource for resource in self.resources}
        seen, rest = set[str](), list(found.dependencies)
        while rest:
            if (urn := rest.pop()) not in seen:
                seen.add(urn)
                rest += by_urn[urn].dependencies
        return seen


class FakeEngine(mocks.MockMonitor):
    """Records every resource; in a preview nothing is made and nothing is known."""

    def __init__(self, provider: FakeProvider, *, preview: bool) -> None:
        super().__init__(_NoMocks())
        self.provider, self.preview = provider, preview
        self.graph = Graph()
        self.lock = threading.Lock()
        self.closed = False
        self.replicas: dict[str, str] = {}
        """The replica that each resource belongs to, by URN."""

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 - the SDK's name
        """Record a resource and have it made."""
        urn = self.make_urn(request.parent, request.type, request.name)
        if request.type == "pulumi:pulumi:Stack":
            return resource_pb2.RegisterResourceResponse(urn=urn)
        _ensure_event_loop()
        inputs = _plain(rpc.deserialize_properties(request.object, keep_unknowns=True))
        # A preview could tell what it was given; here it tells nothing, which is the harder case.
        known = {} if self.preview else _opened(rpc.deserialize_properties(request.object))
        identity, outputs = "", dict(known)
        with self.lock:
            own = self.replicas.get(request.parent, request.name)
            self.replicas[urn] = own
            assert not self.closed, "declared after the run was given up"
            if any(found.urn == urn for found in self.graph.resources):
                raise AssertionError(f"{urn} is declared twice")
            if request.custom and not request.type.startswith("pulumi:providers:"):
                if not self.preview:
                    identity, made = self.provider.create(request.type, request.name, known)
                    outputs |= made
            elif request.custom:
                identity = "provider"
            self.graph.resources.append(
                Declared(
                    kind=request.type,
                    name=request.name.removeprefix(f"{own}-"),
                    replica=own,
                    urn=urn,
                    parent=request.parent,
                    custom=request.custom,
                    provider=request.provider,
                    inputs=inputs,
                    dependencies=frozenset(request.dependencies),
                    delete_first=request.deleteBeforeReplace,
                    id=identity,
                    outputs=outputs,
                )
            )
        found = _sync_await(rpc.serialize_properties(outputs, {}))
        return resource_pb2.RegisterResourceResponse(urn=urn, id=identity, object=found)

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802
        """Keep what the stack exports; the type of what stands in it begins with the stack's."""
        if request.urn.split("::")[2] == "pulumi:pulumi:Stack":
            _ensure_event_loop()
            found = _plain(rpc.deserialize_properties(request.outputs, keep_unknowns=True))
            self.graph.outputs.update(found)
        return empty_pb2.Empty()

    def Invoke(self, request: Any) -> Any:  # noqa: N802
        """Answer a question of the program."""
        _ensure_event_loop()
        asked = rpc.deserialize_properties(request.args)
        with self.lock:
            self.graph.questions.append((request.tok, _plain(asked)))
            answer = self.provider.call(request.tok, asked)
        found = _sync_await(rpc.serialize_properties(answer, {}))
        return resource_pb2.ResourceInvokeResponse(**{"return": found})

    def destroy(self) -> None:
        """Delete everything, what depends on a thing before the thing."""
        with self.lock:
            self.closed = True
        left = {found.urn: found for found in self.graph.resources if found.custom and found.id}
        while left:
            needed = {urn for found in left.values() for urn in found.dependencies} & set(left)
            free = [found for urn, found in left.items() if urn not in needed]
            assert free, f"a circle: {sorted(left)}"
            for found in reversed(free):
                if not found.kind.startswith("pulumi:providers:"):
                    self.provider.delete(found.kind, found.id, found.outputs)
                del left[found.urn]


class _NoMocks(mocks.Mocks):
    """Unused: the engine answers itself."""

    def call(self, args: Any) -> Any:
        raise AssertionError("not called")

    def new_resource(self, args: Any) -> Any:
        raise AssertionError("not called")


def _opened(value: Any) -> Any:
    """Return a value with its secrets as the provider gets them."""
    if rpc.is_rpc_secret(value):
        return _opened(value["value"])
    if isinstance(value, dict):
        return {key: _opened(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_opened(item) for item in value]
    return _whole(value)


def _whole(value: Any) -> Any:
    """Return whole numbers as such: the wire has floats alone, the engine prints no point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _plain(value: Any) -> Any:
    """Return a value in which unknown and secret ones are told by name."""
    if isinstance(value, Unknown):
        return UNKNOWN
    if rpc.is_rpc_secret(value):
        return SECRET
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return _whole(value)


def run_program(
    file: Path,
    provider: FakeProvider,
    folder: Path,
    *,
    preview: bool = False,
    config: Mapping[str, str] | None = None,
    engine: FakeEngine | None = None,
    program: Path = PROGRAM,
    more: Mapping[str, str] | None = None,
    checked: str | None = None,
) -> FakeEngine:
    """Run `pulumi/__main__.py` as it is, with a stack's file beside it, and return the engine.

    `checked` names the replica whose checks have passed; None: the stack's. Values of `config` are
    secrets. `more` are values that are not in the file, or take precedence.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for source in (program, file):
        if source.parent != folder:
            shutil.copy(source, folder / source.name)
    engine = engine or FakeEngine(provider, preview=preview)
    secrets = {f"{PROJECT}:{key}": value for key, value in (config or {}).items()}
    values = {**fake_stack.configuration(file), **(more or {}), **secrets}
    pulumi.runtime.set_all_config(values, list(secrets))
    stack = file.name.removeprefix("Pulumi.").removesuffix(".yaml")
    asyncio.set_event_loop(asyncio.new_event_loop())
    settings.set_root_resource(None)
    mocks.set_mocks(_NoMocks(), project=PROJECT, stack=stack, preview=preview, monitor=engine)
    settings.set_root_resource(None)
    # A run that failed leaves calls behind that nobody will answer.
    settings.SETTINGS.rpc_manager.clear()
    settings.SETTINGS.outputs.clear()
    loop = asyncio.get_event_loop()
    # As operate sets it, once its checks have passed.
    os.environ["FIREFLYER_REPLICA_CHECKED"] = stack if checked is None else checked
    try:
        loop.run_until_complete(
            run_in_stack(lambda: runpy.run_path(str(folder / program.name), run_name="__main__"))
        )
    except Exception:
        # What hung on the call that failed has the same error; once is enough.
        loop.set_exception_handler(lambda *_: None)
        raise
    finally:
        del os.environ["FIREFLYER_REPLICA_CHECKED"]
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    return engine
