"""Real software judges switch configurations, and finds what was broken in them."""

from __future__ import annotations

import importlib.util
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.switches import MARKED, NUMBERED, WATCHED, lab_roce, rendered

from fireflyer.design import design
from fireflyer.design.switch_config import switch_configs
from fireflyer.errors import OperatingError
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric
from fireflyer.prove.part import Part
from fireflyer.prove.switches import sonic_yang
from fireflyer.prove.switches.checks import switch_provers
from fireflyer.prove.switches.eos_avd import BEYOND_AVD, differences, lines
from fireflyer.prove.switches.eos_structured import structured
from fireflyer.render import eos
from fireflyer.verify.finding import Finding

OPEN = "management api http-commands > vrf default"
SHAPES: list[dict[str, Any]] = [{}, NUMBERED, MARKED, WATCHED]
MODELS = sonic_yang.models_folder()
yang = pytest.mark.skipif(
    not MODELS or shutil.which("yanglint") is None,
    reason="needs yanglint, and SONiC's YANG models: scripts/sonic-yang-models",
)
avd = pytest.mark.skipif(importlib.util.find_spec("pyavd") is None, reason="needs pyavd")


def without_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(sonic_yang.VARIABLE, raising=False)
    monkeypatch.setattr(sonic_yang, "FOLDER", Path("build/no-models-here"))


def parts(fabric: Fabric, tree: Path) -> list[Part]:
    """Run the parts of a proof that read switch configurations."""
    return [prove(fabric, tree, lambda _: None) for prove in switch_provers(fabric).values()]


def findings(fabric_folder: Path, system: str, changes: dict[str, Any]) -> list[Finding]:
    fabric = lab_roce(fabric_folder, system, changes)
    done = parts(fabric, rendered(fabric, fabric_folder))
    assert any(part.data["files"] == len(fabric.switches) for part in done if not part.skipped)
    return [finding for part in done for finding in part.findings]


def broken(
    folder: Path, system: str, name: str, edit: tuple[str, str], changes: dict[str, Any]
) -> str:
    """Return all that is said once one file was edited."""
    fabric = lab_roce(folder, system, changes)
    tree = rendered(fabric, folder)
    file = tree / system / name
    text = file.read_text()
    assert edit[0] in text
    file.write_text(text.replace(*edit, 1))
    found = [finding for part in parts(fabric, tree) for finding in part.findings]
    assert {finding.subject for finding in found} == {f"{system}/{name}"}
    return "\n".join(str(finding) for finding in found)


@pytest.mark.parametrize("changes", SHAPES)
@pytest.mark.parametrize("system", [pytest.param("sonic", marks=yang), "nvue"])
def test_as_rendered(system: str, changes: dict[str, Any], tmp_path: Path) -> None:
    assert not findings(tmp_path, system, changes)


@avd
@pytest.mark.parametrize("changes", SHAPES)
def test_pyavd_prints_the_same(changes: dict[str, Any], tmp_path: Path) -> None:
    assert not findings(tmp_path, "eos", changes)


def test_mlnxos(tmp_path: Path) -> None:
    fabric = design(load_site(Path("inventory/lab")))
    tree = rendered(fabric, tmp_path)
    (part,) = parts(fabric, tree)
    assert (part.data["files"], part.findings) == (len(fabric.switches), ())
    file = tree / "mlnxos" / "a-leaf01.cfg"
    text = file.read_text()
    for edit, said in (
        (("no ib sm", "ib sm"), "subnet manager on the switch: value is yes, planned no"),
        (("no ib sm", "ib smx"), "is no command that is known here: ib smx"),
        (("a-cn0001", "a-cn0003"), "value is a-cn0003 mlx5_0, planned a-cn0001 mlx5_0"),
        (("interface ib 1/1 desc", "interface ib 1/9 desc"), "port ib 1/1 description: is missing"),
        (("policy drop", "policy accept"), "policy of the filter: value is accept, planned drop"),
        (("10.89.0.0 /24", "10.89.0.0 /8"), "allowed source 10.89.0.0/8: is there, and is not"),
        (("address 10.89.0.1", "address 10.89.0.2"), "interface mgmt0 address: value is 10.89.0.2"),
    ):
        assert edit[0] in text
        file.write_text(text.replace(*edit, 1))
        (part,) = parts(fabric, tree)
        assert said in "\n".join(str(finding) for finding in part.findings)
    file.unlink()
    (part,) = parts(fabric, tree)
    assert [finding.message for finding in part.findings] == ["the file is missing"]


@yang
@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (('{"gwaddr": "10.89.0.254"}', "{}"), "MGMT_INTERFACE"),
        (('"profile": "lossless_200g_', '"profile": "lossless_9g_'), "lossless_9g_"),
        (('"wred_profile": "FABRIC"', '"wred_profile": "OTHER"'), "OTHER"),
        (('"Ethernet0|1-3"', '"Ethernet999|1-3"'), "Ethernet999"),
        (('"34": "1"', '"64": "1"'), "Invalid DSCP"),
        (('"detection_time": "200"', '"detection_time": "50"'), 'value "50" is out of'),
        (('"fec": "rs"', '"colour": "rs"'), '"colour" not found'),
        (('"speed": "200000"', '"speed": "200G"'), "200G"),
        (('"SCHEDULER": {', '"SCHEDULES": {'), "table SCHEDULES is in no model"),
        (('"Loopback0": {}', '"Loop|back|0": {}'), "has 3 keys"),
    ],
)
def test_sonic_models_find(edit: tuple[str, str], said: str, tmp_path: Path) -> None:
    assert said in broken(tmp_path, "sonic", "a-leaf01.json", edit, MARKED)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (('"name": "a-spine01"', '"name": "a-spine02"'), "DEVICE_NEIGHBOR Ethernet16 name: "),
        (
            ('"asn": "4200001025"', '"asn": "4200001026"'),
            "BGP_NEIGHBOR default|Ethernet16 asn: the file has 4200001026, planned 4200001025",
        ),
        (('"admin_status": "up", "desc', '"admin_status": "down", "desc'), "has down, planned up"),
        (('"pfc_enable": "1,2,3"', '"pfc_enable": "1,2"'), "the file has 1,2, planned 1,2,3"),
        (('"18": "3"', '"18": "0"'), "DSCP_TO_TC_MAP FABRIC 18: the file has 0, planned 3"),
        (('"weight": "40"', '"weight": "50"'), "SCHEDULER hfreduce weight: the file has 50"),
        (('"buffer_model": "traditional"', '"buffer_model": "dynamic"'), "has dynamic, planned"),
        (('"Ethernet0": "0m"', '"Ethernet0": "5m"'), "CABLE_LENGTH FABRIC Ethernet0: "),
        (("{", "["), "cannot be read"),
    ],
)
def test_reading_sonic_back_finds(
    edit: tuple[str, str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_models(monkeypatch)
    assert said in broken(tmp_path, "sonic", "a-leaf01.json", edit, {})


GROUP = "BGP_PEER_GROUP default|FABRIC"
POLICY = "BGP_PEER_GROUP_AF default|FABRIC|ipv4_unicast"


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (('"bfd": "true"', '"bfd": "false"'), f"{GROUP} bfd: the file has false, planned true"),
        (('"bfd": "true", ', ""), f"{GROUP} bfd: the file has nothing, planned true"),
        ((', "route_map_in": ["FABRIC_IN"]', ""), f"{POLICY} route_map_in: the file has nothing"),
        (('"FABRIC_IN|10": ', '"OTHER|10": '), "ROUTE_MAP OTHER|10: the file has route_operation"),
        (('out": ["FABRIC_OUT"]', 'out": ["FABRIC_IN"]'), f"{POLICY} route_map_out: the file has"),
        (('"route_operation": "permit"', '"route_operation": "deny"'), "has deny, planned permit"),
        ((', "match_prefix_set": "FABRIC"', ""), "match_prefix_set: the file has nothing, planned"),
        (('_set": "FABRIC"', '_set": "OTHER"'), "match_prefix_set: the file has OTHER, planned"),
        (('"FABRIC|10.89.2.0/24|28..28"', '"FABRIC|10.89.2.0/24|24..32"'), "|24..32: the file has"),
        (
            ('28..28": {"action": "permit"', '28..28": {"action": "deny"'),
            "has deny, planned permit",
        ),
        (('"peer_group_name": "FABRIC", ', ""), "peer_group_name: the file has nothing, planned"),
    ],
)
def test_reading_sonic_back_finds_a_broken_policy(
    edit: tuple[str, str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_models(monkeypatch)
    assert said in broken(tmp_path, "sonic", "a-leaf01.json", edit, {})


BGP = "vrf default router bgp"
POLICY_NVUE = f"{BGP} peer-group FABRIC address-family ipv4-unicast policy"


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (
            ("bfd:\n                  enable: on", "bfd:\n                  enable: off"),
            f"{BGP} peer-group FABRIC bfd enable: the file has off, planned on",
        ),
        (
            ("                bfd:\n                  enable: on\n", ""),
            "detect-multiplier: is not in",
        ),
        (("min-rx-interval: 300", "min-rx-interval: 500"), "has 500, planned 300"),
        (("inbound: {route-map: FABRIC_IN}", "inbound: {}"), f"{POLICY_NVUE} inbound route-map: "),
        (
            ("FABRIC_IN:\n", "OTHER:\n"),
            "route-map OTHER rule 10 action permit: is there, and is not planned",
        ),
        (("outbound: {route-map: FABRIC_OUT}", "outbound: {}"), f"{POLICY_NVUE} outbound route-"),
        (("{action: {permit", "{action: {deny"), "rule 10 action deny: is not in"),
        ((", ip-prefix-list: FABRIC}", "}"), "match ip-prefix-list: the file has nothing"),
        (("ip-prefix-list: FABRIC", "ip-prefix-list: X"), "the file has X, planned FABRIC"),
        (("min-prefix-len: 28", "min-prefix-len: 24"), "min-prefix-len: the file has 24"),
        (
            ("permit, match: {10.89.1.0/24", "deny, match: {10.89.1.0/24"),
            "has deny, planned permit",
        ),
        (("peer-group: FABRIC", "peer-group: OTHER"), "swp5 peer-group: the file has OTHER"),
    ],
)
def test_reading_nvue_back_finds_a_broken_policy(
    edit: tuple[str, str], said: str, tmp_path: Path
) -> None:
    assert said in broken(tmp_path, "nvue", "a-leaf01.yaml", edit, {})


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (("profile: lossless_200g_", "profile: lossless_9g_"), "the file has lossless_9g_"),
        (("description: a-cn0001", "description: a-cn0002"), "planned a-cn0001 roce0"),
        (
            ("'34': {switch", "'64': {switch"),
            "default-global dscp 64 switch-priority: the file has",
        ),
        (("robustness: 2", "robustness: 0"), "0 is not 1 to 1000"),
        (("fec: rs", "colour: rs"), "link colour: is not in the object tree"),
        (("speed: 200G", "speed: 210G"), "210G does not match"),
        (("remote-as: 4200001025", "remote-as: 4200001026"), "swp5 remote-as: the file has"),
        (("inbound: {control", "outbound: {control"), "outbound control-plane: is not in"),
        (("- set:", "- unset:"), "cannot be read as a list with one `set`"),
    ],
)
def test_nvue_tree_finds(edit: tuple[str, str], said: str, tmp_path: Path) -> None:
    assert said in broken(tmp_path, "nvue", "a-leaf01.yaml", edit, {})


@avd
@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (("service-profile FABRIC", "service-profile OTHER"), "> service-profile OTHER"),
        (("interface Ethernet1/1", "interface Ethernet9/1"), "interface Ethernet9/1"),
        (("dscp 34 to", "dscp 64 to"), "qos map dscp 64 to traffic-class 1"),
        (("timeout 0.20", "timeout 99.00"), "watchdog default timeout 99.00"),
        (("   mtu 9214", "   colour 9214"), "colour 9214"),
        (("remote-as 4200001025", "remote-as 1"), "remote-as 1"),
        (("   vrf default\n      shutdown\n   !\n", ""), f"lacks a line that pyavd has: {OPEN}"),
    ],
)
def test_pyavd_finds(edit: tuple[str, str], said: str, tmp_path: Path) -> None:
    assert said in broken(tmp_path, "eos", "a-leaf01.cfg", edit, {})


@avd
def test_avd_judges_the_description_too(tmp_path: Path) -> None:
    ethernet = {"cluster.fabric.ethernet": {"dcqcn": True}}
    fabric = lab_roce(tmp_path, "eos", ethernet)
    config = next(iter(switch_configs(fabric)))
    assert config.bgp is not None
    wide = replace(config, bgp=replace(config.bgp, maximum_paths=9999))
    pyavd = importlib.import_module("pyavd")
    violations = pyavd.validate_structured_config(structured(wide)).validation_result.violations
    assert any("9999" in fault.message for fault in violations)


@avd
def test_what_is_asked_beside_avd_is_beyond_it(tmp_path: Path) -> None:
    """Once AVD has a word for one of these lines, it belongs into our description instead."""
    eapi = importlib.import_module("pyavd._eos_cli_config_gen.schema").EosCliConfigGen
    eapi = eapi.ManagementApiHttp
    assert set(eapi.EnableVrfsItem._fields) == {"name", "access_group", "ipv6_access_group"}
    assert [name for name in eapi._fields if "vrf" in name] == ["enable_vrfs"]
    assert {line.split(" > ")[0] for line in BEYOND_AVD} == {"management api http-commands"}
    pyavd = importlib.import_module("pyavd")
    http = {"enable_https": True, "enable_vrfs": [{"name": "default"}]}
    for config in switch_configs(lab_roce(tmp_path, "eos")):
        described = structured(config)
        assert not set(BEYOND_AVD) & set(lines(pyavd.get_device_config(described)))
        opened = set(lines(pyavd.get_device_config(described | {"management_api_http": http})))
        assert set(BEYOND_AVD) & opened == {OPEN}
        assert set(BEYOND_AVD) <= set(lines(eos.text(config)))


def test_models_not_named_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_models(monkeypatch)
    fabric = lab_roce(tmp_path, "sonic")
    check = sonic_yang.check(fabric, rendered(fabric, tmp_path))
    assert "`scripts/sonic-yang-models` fetches them from SONiC's repository" in check.skipped
    assert "scp -r admin@SWITCH:/usr/local/yang-models build/sonic-yang-models" in check.skipped


def test_models_come_from_the_folder_that_the_variable_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_models(monkeypatch)
    assert sonic_yang.models_folder() is None
    monkeypatch.setattr(sonic_yang, "FOLDER", tmp_path)
    assert sonic_yang.models_folder() == tmp_path
    monkeypatch.setenv(sonic_yang.VARIABLE, "/other")
    assert sonic_yang.models_folder() == Path("/other")


def test_a_folder_without_models_is_refused(tmp_path: Path) -> None:
    fabric = lab_roce(tmp_path, "sonic")
    with pytest.raises(OperatingError, match=r"lacks sonic-acl, sonic-bgp-global, .*\.yang"):
        sonic_yang.check(fabric, rendered(fabric, tmp_path), tmp_path)


def test_a_part_of_a_proof_says_what_was_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_models(monkeypatch)
    fabric = lab_roce(tmp_path, "sonic", MARKED)
    tree = rendered(fabric, tmp_path)
    told: list[str] = []
    provers = switch_provers(fabric).values()
    models, read_back, *others = (prove(fabric, tree, told.append) for prove in provers)
    assert (models.name, models.lines) == ("sonic-models", ())
    assert models.skipped.startswith("no SONiC YANG models: `scripts/sonic-yang-models`")
    assert read_back.data["files"] == len(fabric.switches)
    assert read_back.lines == ("configurations read             11",)
    assert all((part.data["files"], part.findings) == (11, ()) for part in others)
    names = ("sonic-models", "sonic", "sonic-ports", "sonic-buffers", "sonic-marking")
    assert told == [f"{name}: 11 switch configurations" for name in names]


@avd
@pytest.mark.parametrize("changes", [MARKED | WATCHED, NUMBERED])
def test_every_line_of_eos_is_read(changes: dict[str, Any], tmp_path: Path) -> None:
    """All but the closing `end`, after which nothing stands."""
    pyavd = importlib.import_module("pyavd")
    names = ("a-leaf01", "a-spine01")
    configs = switch_configs(lab_roce(tmp_path, "eos", changes))
    for config in (one for one in configs if one.name in names):
        printed = pyavd.get_device_config(structured(config))
        rows = eos.text(config).splitlines()
        assert not list(differences("x", "\n".join(rows), printed, BEYOND_AVD))
        for number, row in enumerate(rows):
            if not row.strip() or row.strip().startswith("!"):
                continue
            gone: list[list[str]] = [[], [f"!{row}"]] if row != "end" else []
            for edited in (*gone, [f"{row}1"], [row, "   one more"], ["end", row]):
                text = "\n".join([*rows[:number], *edited, *rows[number + 1 :]])
                if edited != ["end", "end"]:
                    assert list(differences("x", text, printed, BEYOND_AVD)), (row, edited)
