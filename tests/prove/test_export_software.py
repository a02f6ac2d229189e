"""The exports, read by the programs they are for."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
import yaml
from tests.conftest import MakeSite, make_site_in
from tests.sites import ETHERNET, PLANES

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric, Role
from fireflyer.render.exports import files

SIMGRID_PYTHON = "/usr/bin/python3"
SIMGRID = """
import sys
from simgrid import Actor, Engine, Host, Mailbox
engine = Engine(["simgrid", "--cfg=network/model:CM02", "--cfg=network/crosstraffic:0",
                 "--cfg=network/TCP-gamma:0", "--log=root.thres:error"])
engine.load_platform(sys.argv[1])
def send(box, size):
    Mailbox.by_name(box).put("data", size)
def receive(box):
    Mailbox.by_name(box).get()
    print(box, Engine.clock)
for flow in sys.argv[3:]:
    a, z = flow.split("=")
    Actor.create("s", Host.by_name(a), send, flow, int(sys.argv[2]))
    Actor.create("r", Host.by_name(z), receive, flow)
engine.run()
"""
ONE_SECOND_BYTES = 25_000_000_000
"""What 200 Gb/s carry in a second."""


def needs(program: str, package: str) -> str:
    """Return a program's path, or skip and say what is missing."""
    here = Path(sys.executable).parent
    found = shutil.which(program, path=f"{here}:{os.environ['PATH']}:/usr/sbin:/sbin")
    if found is None:
        pytest.skip(f"{program} is not installed: {package}")
    return found


def run(
    *command: str | Path,
    env: Mapping[str, str] | None = None,
    stdin: str = "",
    cwd: Path | None = None,
) -> str:
    """Run a program and return its output; a failure shows it."""
    done = subprocess.run(
        command,
        cwd=cwd,
        input=stdin,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def written(folder: Path, fabric: Fabric) -> Path:
    """Write a fabric's exports and return their folder."""
    for name, content in files(fabric):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


@pytest.fixture(scope="module")
def infiniband(tmp_path_factory: pytest.TempPathFactory, fire_flyer_2: Fabric) -> Path:
    return written(tmp_path_factory.mktemp("infiniband"), fire_flyer_2)


@pytest.fixture(scope="module")
def ethernet(tmp_path_factory: pytest.TempPathFactory) -> tuple[Fabric, Path]:
    folder = tmp_path_factory.mktemp("ethernet")
    fabric = design(load_site(make_site_in(folder, "lab", ETHERNET)))
    return fabric, written(folder / "out", fabric)


def test_ibtopodiff_reads_every_system_and_adapter(
    infiniband: Path, fire_flyer_2: Fabric, tmp_path: Path
) -> None:
    program = needs("ibtopodiff", "apt-get install ibutils")
    (tmp_path / "empty.lst").touch()
    done = subprocess.run(
        [
            program,
            "-t",
            infiniband / "ibdiagnet" / "fire-flyer-2.topo",
            "-d",
            tmp_path / "empty.lst",
            "-e",
        ],
        env={**os.environ, "IBDM_IBNL_PATH": str(infiniband / "ibdiagnet" / "ibnl")},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,  # it reports that the empty subnet differs, and may crash after it
    )
    switches, nodes = len(fire_flyer_2.switches), len(fire_flyer_2.nodes)
    adapters = len(fire_flyer_2.node_port)
    assert f"Defined {switches + nodes}/{switches + adapters} systems/nodes" in done.stdout
    assert "-W-" not in done.stdout


def test_gvpr_reads_the_ptm_graph(ethernet: tuple[Fabric, Path]) -> None:
    fabric, folder = ethernet
    program = needs("gvpr", "apt-get install graphviz")
    code = 'E{print(tail.name,":",tailport," ",head.name,":",headport)}'
    lines = run(program, code, folder / "ptm" / "topology.dot").splitlines()
    assert len(lines) == len(fabric.cables)
    assert all(re.fullmatch(r"[\w-]+:\w+ [\w-]+:\w+", line) for line in lines)


def test_promtool_takes_targets_and_expected_state(infiniband: Path, tmp_path: Path) -> None:
    program = needs("promtool", "apt-get install prometheus")
    folder = infiniband / "prometheus"
    config = {
        "scrape_configs": [
            {"job_name": name, "file_sd_configs": [{"files": [str(folder / f"{name}.json")]}]}
            for name in ("nodes", "switches")
        ]
    }
    (tmp_path / "prometheus.yml").write_text(json.dumps(config))
    assert "SUCCESS" in run(program, "check", "config", tmp_path / "prometheus.yml")
    assert run(program, "check", "metrics", stdin=(folder / "expected.prom").read_text()) == ""


def test_kubectl_reads_every_node(infiniband: Path, fire_flyer_2: Fabric) -> None:
    program = needs("kubectl", "apt-get install kubernetes-client")
    file = infiniband / "kubernetes" / "nodes.yaml"
    names = run(program, "label", "--local", "-f", file, "read=1", "-o", "name").split()
    assert names == [f"node/{node.name}" for node in fire_flyer_2.nodes_of(Role.COMPUTE)]
    file = infiniband / "kubernetes" / "slinky-topology.yaml"
    assert "configmap/slurm-topology" in run(
        program, "label", "--local", "-f", file, "read=1", "-o", "name"
    )


def netlab_port(name: str) -> int:
    """Return a port's number from 1: SONiC counts four lanes a port from Ethernet0."""
    kind, number = re.fullmatch(r"(\D+)(\d+)", name.removesuffix("/1")).groups()  # type: ignore[union-attr]
    return int(number) // 4 + 1 if kind == "Ethernet" else int(number)


@pytest.mark.parametrize("system", ["sonic", "eos"])  # ports from 0, and from 1
def test_netlab_creates_the_lab(make_site: MakeSite, tmp_path: Path, system: str) -> None:
    """Read netlab's own containerlab file back: links, ports and management addresses."""
    program = needs("netlab", "pip install networklab")
    fabric = design(load_site(make_site("lab", ETHERNET | {"cluster.fabric.system": system})))
    folder = tmp_path / "netlab"
    folder.mkdir()
    (folder / "topology.yml").write_text(str(dict(files(fabric))["netlab/topology.yml"]))
    run(program, "create", "--quiet", cwd=folder)
    topology = yaml.safe_load((folder / "clab.yml").read_text())["topology"]
    devices = {switch.name: str(switch.management) for switch in fabric.switches}
    devices |= {node.name: str(node.management) for node in fabric.nodes}
    assert {name: node["mgmt-ipv4"] for name, node in topology["nodes"].items()} == devices
    ends = [[end.split(":") for end in link["endpoints"]] for link in topology["links"]]
    found = [{(name, netlab_port(port)) for name, port in pair} for pair in ends]
    expected = [
        {(port.device, port.number) for port in (cable.a, cable.z)} for cable in fabric.cables
    ]
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))


@contextmanager
def background(*command: str | Path, log: Path) -> Iterator[None]:
    """Run a program as long as the block runs; its output goes to a file."""
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as done:
        try:
            yield
        finally:
            done.terminate()


def answer(url: str, accepted: Callable[[Any], bool], log: Path) -> Any:
    """Return the `data` of Prometheus' API once it is accepted, within 30 seconds."""
    data: Any = None
    for _ in range(150):
        try:
            with urlopen(url, timeout=5) as response:
                data = json.load(response)["data"]
            if accepted(data):
                return data
        except OSError:
            pass
        time.sleep(0.2)
    pytest.fail(f"{url}: {data!r}\n{log.read_text()[-2000:]}")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def test_prometheus_finds_expected_links_by_device(
    infiniband: Path, fire_flyer_2: Fabric, tmp_path: Path
) -> None:
    """Scrape a management node's exporter as docs/exports.md says, and ask for a leaf's links."""
    server = needs("prometheus", "apt-get install prometheus")
    exporter = needs("prometheus-node-exporter", "apt-get install prometheus-node-exporter")
    folder = infiniband / "prometheus"
    here, there = (f"127.0.0.1:{free_port()}" for _ in range(2))
    job = {
        "job_name": "nodes",
        "scrape_interval": "1s",
        "file_sd_configs": [{"files": [str(folder / "nodes.json")]}],
        "relabel_configs": [
            {"source_labels": ["fabric_device"], "regex": "mg0?1", "action": "keep"},
            {"target_label": "__address__", "replacement": there},
        ],
    }
    (tmp_path / "prometheus.yml").write_text(json.dumps({"scrape_configs": [job]}))
    options = [
        f"--config.file={tmp_path / 'prometheus.yml'}",
        f"--storage.tsdb.path={tmp_path / 'data'}",
        f"--web.listen-address={here}",
    ]
    of_exporter = [f"--collector.textfile.directory={folder}", f"--web.listen-address={there}"]
    log = tmp_path / "log"
    leaf = sum(1 for cable in fire_flyer_2.cables if "a-leaf01" in (cable.a.device, cable.z.device))
    with (
        background(exporter, *of_exporter, log=tmp_path / "exporter.log"),
        background(server, *options, log=log),
    ):
        query = f"http://{here}/api/v1/query?" + urlencode(
            {"query": 'count(fireflyer_expected_link{device="a-leaf01"} == 200)'}
        )
        found = answer(query, lambda data: bool(data["result"]), log)
        assert [sample["value"][1] for sample in found["result"]] == [str(leaf)]
        labels = answer(f"http://{here}/api/v1/labels", bool, log)
    assert {"device", "cpu", "fabric_device", "fabric_rack"} <= set(labels)
    assert not [label for label in labels if label.startswith("exported_")]


@pytest.fixture
def with_macs(make_site: MakeSite, tmp_path: Path) -> Path:
    site = make_site("lab")
    rows = "a-cn0001,,,02:00:00:00:00:01,\nst001,,,02:00:00:00:00:02,\n"
    (site / "assets.csv").write_text("name,serial,guid,mac,bmc_mac\n" + rows)
    return written(tmp_path / "out", design(load_site(site)))


def test_dnsmasq_takes_the_reservations(with_macs: Path) -> None:
    file = with_macs / "dnsmasq" / "management.conf"
    lines = file.read_text()
    assert "dhcp-host=02:00:00:00:00:01,10.89.0.41,a-cn0001\n" in lines
    assert "# 16 devices have no MAC" in lines
    assert "OK" in run(
        needs("dnsmasq", "apt-get install dnsmasq-base"), "--test", f"--conf-file={file}"
    )


def test_kea_takes_the_reservations(with_macs: Path) -> None:
    file = with_macs / "kea" / "kea-dhcp4.conf"
    (subnet,) = json.loads(file.read_text())["Dhcp4"]["subnet4"]
    assert [item["hostname"] for item in subnet["reservations"]] == ["a-cn0001", "st001"]
    assert subnet["user-context"] == {"devices-without-mac": 16}
    assert "ERROR" not in run(needs("kea-dhcp4", "apt-get install kea-dhcp4-server"), "-t", file)


def simulated(platform: Path, *flows: str) -> dict[str, float]:
    """Return when each flow of a second's bytes has arrived, in seconds."""
    check = subprocess.run(
        [SIMGRID_PYTHON, "-c", "import simgrid"], capture_output=True, check=False
    )
    if check.returncode:
        pytest.skip("simgrid is not installed: apt-get install python3-simgrid")
    found = run(SIMGRID_PYTHON, "-c", SIMGRID, platform, str(ONE_SECOND_BYTES), *flows)
    return {name: float(clock) for name, clock in re.findall(r"^(\S+=\S+) ([\d.]+)$", found, re.M)}


def test_simgrid_carries_both_ways_at_full_speed(infiniband: Path) -> None:
    there, back = "a-cn0001:1=b-cn0600:1", "b-cn0600:1=a-cn0001:1"
    found = simulated(infiniband / "simgrid" / "platform.xml", there, back)
    assert found == {there: pytest.approx(1, abs=1e-5), back: pytest.approx(1, abs=1e-5)}


def test_simgrid_shares_a_trunk(ethernet: tuple[Fabric, Path]) -> None:
    """Two cables between a leaf and a spine carry two flows side by side, not four."""
    _, folder = ethernet
    flows = ["st002:1=st001:1", "a-cn0001:1=a-cn0001:2"]
    found = simulated(folder / "simgrid" / "platform.xml", *flows)
    assert found == dict.fromkeys(flows, pytest.approx(1, abs=1e-5))


def test_planes_are_platforms_of_their_own(make_site: MakeSite, tmp_path: Path) -> None:
    fabric = design(load_site(make_site("lab", PLANES)))
    folder = written(tmp_path / "out", fabric) / "simgrid"
    assert sorted(path.name for path in folder.iterdir()) == ["p1.xml", "p2.xml"]
    (flow,) = simulated(folder / "p1.xml", "a-cn0001:1=a-cn0002:1").values()
    assert flow == pytest.approx(1, abs=1e-5)
