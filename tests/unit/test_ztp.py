"""A new switch gets its own file, whole, and a configured one is left alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.conftest import REPO, MakeSite, make_site_in
from tests.sites import ETHERNET
from tests.switches import lab_roce

from fireflyer.design import design
from fireflyer.errors import IntentError
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric
from fireflyer.model.hardware import System
from fireflyer.render import artefacts
from fireflyer.render.manifest import manifest, print_manifest

SERIAL, NEW = "MT2300X00001", "a-leaf02"
"""The switch that is switched on."""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and keeps no log."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Serve a folder on the loopback; yield its address and the folder."""
    folder = tmp_path / "www"
    folder.mkdir()
    web = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=web.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{web.server_port}", folder
    web.shutdown()
    thread.join()
    web.server_close()


def with_serials(site: Path) -> Fabric:
    """Return the fabric of a site, of whose switches every serial number is known."""
    named = make_site_in(site.parent, "lab", ETHERNET, "named")
    names = [switch.name for switch in design(load_site(named)).switches]
    rows = "".join(
        f"{name},{SERIAL if name == NEW else f'MT2300X1{number:04d}'},,,\n"
        for number, name in enumerate(names)
    )
    (site / "assets.csv").write_text(f"name,serial,guid,mac,bmc_mac\n{rows}")
    return design(load_site(site))


def rendered(url: str, folder: Path, make_site: MakeSite, system: System = "sonic") -> Fabric:
    """Render the switch files of a small site into a folder."""
    changes = {"cluster.fabric.system": system, "cluster.switch_management": {"ztp_url": url}}
    fabric = with_serials(make_site("lab", ETHERNET | changes))
    files = artefacts(fabric, (system, "ztp"))
    for path, text in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    (folder / "manifest.json").write_text(print_manifest("site", manifest(files.items())))
    return fabric


def new_switch(folder: Path, serial: str, hostname: str = "", system: System = "sonic") -> Path:
    """Make what the script finds on a switch; its programs write down how they are called."""
    root = folder / "root"
    programs = root / "fake_bin"
    programs.mkdir(parents=True)
    says = f"echo 'Serial Number        0x23  {len(serial)} {serial}'"
    fakes = {"decode-syseeprom": says}
    if system == "sonic":
        tables = {"DEVICE_METADATA": {"localhost": {"hostname": hostname or "sonic"}}}
        write(root / "etc/sonic/config_db.json", json.dumps(tables))
        fakes["config"] = f'echo "$@" >> {root}/calls'
    elif system == "nvue":
        write(root / "usr/bin/nv", "")
        text = f"- set:\n    system:\n      hostname: {hostname or 'cumulus'}\n"
        write(root / "etc/nvue.d/startup.yaml", text)
        fakes["nv"] = f'echo "$@" >> {root}/calls'
    else:
        write(root / "mnt/flash/startup-config", f"hostname {hostname}\n" if hostname else "")
        answer = json.dumps({"serialNumber": serial, "modelName": "fake"})
        fakes = {"FastCli": f"echo '{answer}'"}
    for name, does in fakes.items():
        write(programs / name, f"#!/bin/sh\n{does}\n")
        (programs / name).chmod(0o755)
    return root


def write(file: Path, text: str) -> None:
    """Write a file and the folders above it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def boot(root: Path, script: Path) -> subprocess.CompletedProcess[str]:
    """Run the script as ZTP does."""
    path = f"{root}/fake_bin{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PATH": path, "ZERO_TOUCH_ROOT": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_new_switch_gets_the_file_of_its_serial_number(
    server: tuple[str, Path], make_site: MakeSite, tmp_path: Path
) -> None:
    url, folder = server
    rendered(url, folder, make_site)
    root = new_switch(tmp_path, SERIAL)
    done = boot(root, folder / "ztp/zero_touch.py")
    assert (done.returncode, done.stdout) == (0, "zero touch: this is a-leaf02\n"), done.stderr
    installed = root / "tmp/zero-touch/configuration"
    assert installed.read_text() == (folder / "sonic/a-leaf02.json").read_text()
    assert (root / "calls").read_text() == f"load -y {installed}\nsave -y\nreload -y\n"


def test_cumulus_adds_its_file_to_what_the_factory_ships(
    server: tuple[str, Path], make_site: MakeSite, tmp_path: Path
) -> None:
    url, folder = server
    rendered(url, folder, make_site, "nvue")
    root = new_switch(tmp_path, SERIAL, system="nvue")
    done = boot(root, folder / "ztp/zero_touch.py")
    assert (done.returncode, done.stdout) == (0, f"zero touch: this is {NEW}\n"), done.stderr
    installed = root / "tmp/zero-touch/configuration"
    assert installed.read_text() == (folder / f"nvue/{NEW}.yaml").read_text()
    assert (root / "calls").read_text() == (
        f"config patch {installed}\nconfig apply -y\nconfig save\n"
    )


def test_eos_restarts_with_its_file(
    server: tuple[str, Path], make_site: MakeSite, tmp_path: Path
) -> None:
    url, folder = server
    rendered(url, folder, make_site, "eos")
    root = new_switch(tmp_path, SERIAL, system="eos")
    done = boot(root, folder / "ztp/zero_touch.py")
    assert (done.returncode, done.stdout) == (0, f"zero touch: this is {NEW}\n"), done.stderr
    startup = root / "mnt/flash/startup-config"
    assert startup.read_text() == (folder / f"eos/{NEW}.cfg").read_text()


@pytest.mark.parametrize("system", ["nvue", "eos"])
def test_another_system_that_was_configured_is_left_alone(
    system: System, server: tuple[str, Path], make_site: MakeSite, tmp_path: Path
) -> None:
    url, folder = server
    rendered(url, folder, make_site, system)
    root = new_switch(tmp_path, SERIAL, hostname="old-leaf", system=system)
    done = boot(root, folder / "ztp/zero_touch.py")
    assert done.returncode == 0
    assert "left alone: it is configured already" in done.stdout
    assert not (root / "calls").exists()


def test_cumulus_is_not_found_by_a_name_of_dhcp(
    server: tuple[str, Path], make_site: MakeSite, tmp_path: Path
) -> None:
    url, folder = server
    rendered(url, folder, make_site, "nvue")
    switches = json.loads((folder / "ztp/switches.json").read_text())
    assert switches["serials"][SERIAL] == NEW
    root = new_switch(tmp_path, "MT2300X00099", system="nvue")
    done = boot(root, folder / "ztp/zero_touch.py")
    assert done.returncode == 1
    assert done.stderr == "zero touch: no switch of the site has serial MT2300X00099\n"


def test_cumulus_without_a_serial_number_is_refused(tmp_path: Path) -> None:
    changes = {"cluster.switch_management": {"ztp_url": "http://10.0.0.1"}}
    with pytest.raises(IntentError, match="11 switches, such as a-spine01, have no serial"):
        lab_roce(tmp_path, "nvue", changes)


def test_a_configured_switch_is_left_alone(
    server: tuple[str, Path], make_site: MakeSite, tmp_path: Path
) -> None:
    url, folder = server
    rendered(url, folder, make_site)
    root = new_switch(tmp_path, SERIAL, hostname="a-leaf02")
    done = boot(root, folder / "ztp/zero_touch.py")
    assert done.returncode == 0
    assert "left alone: it is configured already, as a-leaf02" in done.stdout
    assert not (root / "calls").exists()


def test_a_file_that_is_not_the_manifests_is_not_installed(
    server: tuple[str, Path], make_site: MakeSite, tmp_path: Path
) -> None:
    url, folder = server
    rendered(url, folder, make_site)
    with (folder / "sonic/a-leaf02.json").open("a") as file:
        file.write("\n")
    root = new_switch(tmp_path, SERIAL)
    done = boot(root, folder / "ztp/zero_touch.py")
    assert done.returncode == 1
    assert "/sonic/a-leaf02.json has SHA-256" in done.stderr
    assert not (root / "calls").exists()


def test_a_switch_of_another_site_is_left_alone(
    server: tuple[str, Path], make_site: MakeSite, tmp_path: Path
) -> None:
    url, folder = server
    rendered(url, folder, make_site)
    root = new_switch(tmp_path, "MT2300X00099")
    done = boot(root, folder / "ztp/zero_touch.py")
    assert done.returncode == 1
    assert "no switch of the site has serial MT2300X00099" in done.stderr
    assert not (root / "calls").exists()


@pytest.mark.parametrize(
    ("system", "option"),
    [
        ("sonic", '67,"http://10.0.0.1/roce/ztp/ztp.json"'),
        ("nvue", '239,"http://10.0.0.1/roce/ztp/zero_touch.py"'),
        ("eos", '67,"http://10.0.0.1/roce/ztp/zero_touch.py"'),
    ],
)
def test_dnsmasq_reads_the_options(
    system: System, option: str, make_site: MakeSite, tmp_path: Path
) -> None:
    management = {
        "ztp_url": "http://10.0.0.1/roce",
        "onie_image_url": "http://10.0.0.1/onie-installer.bin",
    }
    changes = {"cluster.fabric.system": system, "cluster.switch_management": management}
    fabric = with_serials(make_site("lab", ETHERNET | changes))
    files = artefacts(fabric, ("ztp",))
    text = files["ztp/dhcp-options.conf"]
    assert f"dhcp-option-force=tag:switch,{option}\n" in text
    assert 'tag:switch,114,"http://10.0.0.1/onie-installer.bin"\n' in text
    if shutil.which("dnsmasq") is None:
        pytest.skip("dnsmasq is not installed: apt-get install dnsmasq-base")
    file = tmp_path / "dhcp-options.conf"
    file.write_text(text)
    subprocess.run(["dnsmasq", "--test", f"--conf-file={file}"], check=True, capture_output=True)


def test_cumulus_finds_its_word_in_the_script(make_site: MakeSite) -> None:
    management = {"ztp_url": "http://10.0.0.1"}
    changes = {"cluster.fabric.system": "nvue", "cluster.switch_management": management}
    text = artefacts(with_serials(make_site("lab", ETHERNET | changes)), ("ztp",))
    assert "CUMULUS-AUTOPROVISIONING" in text["ztp/zero_touch.py"]
    assert 'SERVER = "http://10.0.0.1"' in text["ztp/zero_touch.py"]


def test_a_site_that_names_no_server_has_no_files() -> None:
    assert artefacts(design(load_site(REPO / "inventory" / "fire-flyer-roce")), ("ztp",)) == {}
