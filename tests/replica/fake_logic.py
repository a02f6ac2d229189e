"""As much of Azure Logic Apps as runs the workflow of a replica's end.

Written from the documents of the workflow definition language: actions in the order of `runAfter`
with its statuses, `Until`, `Foreach` that goes on after a failure, and four functions. Whatever
else a definition holds is an error here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Call = Callable[[str, str], "Any | None"]
"""Method and address to an answer; None: refused."""


class FakeLogicApp:
    """Runs a definition once; `failed` counts the actions that failed."""

    def __init__(self, definition: Mapping[str, Any], parameters: Mapping[str, Any], call: Call):
        assert set(parameters) == set(definition["parameters"])
        self.definition, self.call = definition, call
        self.parameters = {name: value["value"] for name, value in parameters.items()}
        self.variables: dict[str, Any] = {}
        self.bodies: dict[str, Any] = {}
        self.items: dict[str, Any] = {}
        self.failed = 0

    def run(self) -> None:
        self._actions(self.definition["actions"])

    def _actions(self, actions: Mapping[str, Any]) -> bool:
        status: dict[str, str] = {}
        while set(status) != set(actions):
            ready = [n for n in actions if n not in status
                     and set(actions[n].get("runAfter", {})) <= set(status)]  # fmt: skip
            assert ready, f"a circle: {sorted(set(actions) - set(status))}"
            for name in ready:
                wanted = actions[name].get("runAfter", {})
                if all(status[before] in allowed for before, allowed in wanted.items()):
                    good = getattr(self, f"_{actions[name]['type']}")(name, actions[name])
                    status[name] = "Succeeded" if good else "Failed"
                    self.failed += not good
                else:
                    status[name] = "Skipped"
        return "Failed" not in status.values()

    def _InitializeVariable(self, name: str, action: Mapping[str, Any]) -> bool:  # noqa: N802
        (variable,) = action["inputs"]["variables"]
        self.variables[variable["name"]] = self._value(variable["value"])
        return True

    def _SetVariable(self, name: str, action: Mapping[str, Any]) -> bool:  # noqa: N802
        assert action["inputs"]["name"] in self.variables
        self.variables[action["inputs"]["name"]] = self._value(action["inputs"]["value"])
        return True

    def _Until(self, name: str, action: Mapping[str, Any]) -> bool:  # noqa: N802
        for _ in range(action["limit"]["count"]):
            self._actions(action["actions"])
            if self._value(action["expression"]):
                return True
        return True

    def _Foreach(self, name: str, action: Mapping[str, Any]) -> bool:  # noqa: N802
        good = True
        for item in self._value(action["foreach"]):
            self.items[name] = item
            good &= self._actions(action["actions"])
        return good

    def _Http(self, name: str, action: Mapping[str, Any]) -> bool:  # noqa: N802
        inputs = action["inputs"]
        assert inputs["authentication"] == {
            "type": "ManagedServiceIdentity",
            "audience": "https://management.azure.com/",
        }
        self.bodies[name] = self.call(inputs["method"], self._value(inputs["uri"]))
        return self.bodies[name] is not None

    def _value(self, text: str) -> Any:
        if text.startswith("@{") and text.endswith("}") and text.count("@{") == 1:
            return self._expression(text[2:-1])
        if text.startswith("@"):
            return self._expression(text[1:])
        return re.sub(r"@\{([^}]*)\}", lambda found: str(self._expression(found[1])), text)

    def _expression(self, text: str) -> Any:
        names: dict[str, Any] = {
            "concat": lambda *parts: "".join(parts),
            "coalesce": lambda *parts: next((p for p in parts if p is not None), None),
            "empty": lambda value: not value,
            "variables": self.variables.__getitem__,
            "parameters": self.parameters.__getitem__,
            "items": lambda name: _Object(self.items[name]),
            "body": lambda name: _Object(self.bodies[name]),
        }
        return eval(text.replace(")?[", ")["), {"__builtins__": {}}, names)


class _Object:
    """An object asked by `?[...]`: what is not there is null."""

    def __init__(self, of: Mapping[str, Any]) -> None:
        self.of = of

    def __getitem__(self, key: str) -> Any:
        return self.of.get(key)
