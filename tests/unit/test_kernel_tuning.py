"""The role kernel_tuning's program on simulated kernel files."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

PROGRAM = Path(__file__).parents[2] / "roles/kernel_tuning/files/kernel_tuning.py"
WANTED = {
    "boot_parameters": ["iommu=pt"],
    "governor": "performance",
    "transparent_hugepage": "madvise",
    "access_control": False,
    "relaxed_ordering": True,
}
BRIDGE_CLASS, NETWORK_CLASS, GPU_CLASS, DISK_CLASS = 0x060400, 0x020700, 0x030200, 0x010802
ORDERED, RELAXED = 0x2900, 0x2910


def space(pci_class: int, *, control: int | None = None, acs: int | None = None) -> bytes:
    """Return a function's configuration space: power management, PCI Express, then AER and ACS."""
    data = bytearray(4096)
    data[0x00:0x02] = (0x10DE if pci_class == GPU_CLASS else 0x15B3).to_bytes(2, "little")
    data[0x09:0x0C] = pci_class.to_bytes(3, "little")
    if control is not None:
        data[0x06] = 1 << 4
        data[0x34] = 0x60
        data[0x60:0x62] = bytes([0x01, 0x80])
        data[0x80:0x82] = bytes([0x10, 0x00])
        data[0x88:0x8A] = control.to_bytes(2, "little")
    if acs is not None:
        data[0x100:0x104] = (0x2A0_2_0001).to_bytes(4, "little")
        data[0x2A0:0x2A4] = (0x000_1_000D).to_bytes(4, "little")
        data[0x2A6:0x2A8] = acs.to_bytes(2, "little")
    return bytes(data)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("kernel_tuning", PROGRAM)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "kernel_tuning", module)
    spec.loader.exec_module(module)
    settings = tmp_path / "kernel_tuning.json"
    settings.write_text(json.dumps(WANTED))
    monkeypatch.setattr(module, "SETTINGS", settings)
    monkeypatch.setenv("KERNEL_TUNING_ROOT", str(tmp_path / "root"))
    return module


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """Write a node on which every setting deviates; return its root."""
    root = tmp_path / "root"
    files = {
        "proc/cmdline": "BOOT_IMAGE=/vmlinuz root=/dev/sda1 iommu=ptx quiet\n",
        "sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "schedutil\n",
        "sys/devices/system/cpu/cpufreq/policy1/scaling_governor": "performance\n",
        "sys/devices/system/cpu/cpufreq/policy0/affected_cpus": "0\n",
        "sys/devices/system/cpu/cpufreq/policy1/affected_cpus": "1\n",
        "sys/devices/system/cpu/cpufreq/policy2/affected_cpus": "\n",  # offline, and so busy
        "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
    }
    functions = {
        "0000:40:01.0": space(BRIDGE_CLASS, control=ORDERED, acs=0x001D),
        "0000:40:02.0": space(BRIDGE_CLASS, control=ORDERED, acs=0),
        "0000:40:03.0": space(BRIDGE_CLASS, control=ORDERED),
        "0000:41:00.0": space(GPU_CLASS, control=ORDERED),
        "0000:42:00.0": space(NETWORK_CLASS, control=RELAXED),
        "0000:43:00.0": space(DISK_CLASS, control=ORDERED),
        "0000:44:00.0": space(NETWORK_CLASS)[:64],  # what the kernel shows of an old function
        "0000:45:00.0": space(NETWORK_CLASS, control=ORDERED),  # no RDMA: its driver may forbid it
        "0000:42:00.1": space(NETWORK_CLASS, control=ORDERED),  # a virtual function
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for name, data in functions.items():
        folder = root / "sys/bus/pci/devices" / name
        folder.mkdir(parents=True)
        (folder / "config").write_bytes(data)
        if name.startswith("0000:42"):
            (folder / "infiniband/mlx5_0").mkdir(parents=True)
    (root / "sys/bus/pci/devices/0000:42:00.1/physfn").symlink_to("../0000:42:00.0")
    return root


def run(
    program: ModuleType, word: str, capsys: pytest.CaptureFixture[str]
) -> tuple[int, list[str]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["kernel-tuning", word])
        code: int = program.main()
    return code, capsys.readouterr().out.splitlines()


def test_each_deviation_is_reported(
    program: ModuleType, node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cpu, pages = "sys/devices/system/cpu/cpufreq/policy0", "sys/kernel/mm/transparent_hugepage"
    assert run(program, "check", capsys) == (
        1,
        [
            f"{node}/{cpu}/scaling_governor is schedutil, not performance",
            f"{node}/{pages}/enabled is always, not madvise",
            "0000:40:01.0 redirects peer-to-peer traffic to the root complex: ACS control is not 0"
            " (0x001d)",
            "0000:41:00.0 does not use relaxed ordering: it is not enabled in Device Control"
            " (0x2900)",
            "the kernel was booted without iommu=pt; reboot the node",
        ],
    )


def test_apply_reaches_every_setting_and_changes_nothing_else(
    program: ModuleType, node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    devices = node / "sys/bus/pci/devices"
    before = {path: path.read_bytes() for path in sorted(devices.glob("*/config"))}
    assert run(program, "apply", capsys) == (0, ["as wanted"])
    assert run(program, "check", capsys)[0] == 3
    (node / "proc/cmdline").write_text("quiet iommu=pt\n")
    # The kernel lists the choices again; a file keeps what was written.
    assert run(program, "check", capsys) == (0, ["as wanted"])
    changed = {
        path.parent.name: [(at, new[at]) for at in range(len(new)) if new[at] != old[at]]
        for path, old in before.items()
        if (new := path.read_bytes()) != old
    }
    assert changed == {"0000:40:01.0": [(0x2A6, 0)], "0000:41:00.0": [(0x88, 0x10)]}


def test_disabled_settings_stay_unchanged(
    program: ModuleType, node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program.SETTINGS.write_text(
        json.dumps(
            {
                "boot_parameters": [],
                "governor": "",
                "transparent_hugepage": "",
                "access_control": True,
                "relaxed_ordering": False,
            }
        )
    )
    before = [path.read_bytes() for path in sorted(node.rglob("*")) if path.is_file()]
    assert run(program, "check", capsys) == (0, ["as wanted"])
    assert run(program, "apply", capsys) == (0, ["as wanted"])
    assert [path.read_bytes() for path in sorted(node.rglob("*")) if path.is_file()] == before


def test_a_circular_capability_list_ends(
    program: ModuleType, node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytearray(space(NETWORK_CLASS, control=ORDERED))
    data[0x60:0x62] = bytes([0x01, 0x60])
    (node / "sys/bus/pci/devices/0000:42:00.0/config").write_bytes(data)
    assert run(program, "apply", capsys)[0] == 0


def test_a_virtual_machine_without_governor_or_acs(
    program: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "root/proc").mkdir(parents=True)
    (tmp_path / "root/proc/cmdline").write_text("iommu=pt\n")
    assert run(program, "check", capsys) == (0, ["as wanted"])


def test_failed_settings_are_reported(
    program: ModuleType, node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    governor = node / "sys/devices/system/cpu/cpufreq/policy0/scaling_governor"
    governor.unlink()
    governor.symlink_to("/proc/version")  # which can be read
    code, said = run(program, "apply", capsys)
    assert code == 1
    assert said == [f"{governor} rejects performance: Input/output error"]


@pytest.mark.parametrize("words", [[], ["start"], ["check", "apply"]])
def test_an_unknown_command_is_refused(
    program: ModuleType, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["kernel-tuning", *words])
    assert program.main() == 2
