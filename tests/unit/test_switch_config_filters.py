"""What the role switch_config computes: candidates, differences, health, nothing secret shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from plugins.filter import switch as filters
from roles.switch_config.molecule.default.files.fake_eos import in_vrfs
from tests.conftest import REPO
from tests.switches import lab_roce, rendered

HASH = "$6$salt$" + "x" * 86
USERS = [{"name": "ada", "password_hash": HASH, "authorized_key": "ssh-ed25519 AAAA"}]


def test_sonic_keeps_what_the_platform_put_there_and_drops_what_is_the_files_own() -> None:
    running = {
        "PORT": {"Ethernet0": {"lanes": "0,1", "mtu": "1500"}},
        "FEATURE": {"bgp": {"state": "enabled"}},
        "BGP_NEIGHBOR": {"default|Ethernet4": {"asn": "1"}},
    }
    rendered = {
        "PORT": {"Ethernet0": {"mtu": "9100"}},
        "BGP_NEIGHBOR": {"default|Ethernet0": {"asn": "2"}},
    }
    text = filters.merged(json.dumps(rendered), "{}", "sonic", json.dumps(running))
    assert json.loads(text) == {
        "PORT": {"Ethernet0": {"lanes": "0,1", "mtu": "9100"}},
        "FEATURE": {"bgp": {"state": "enabled"}},
        "BGP_NEIGHBOR": {"default|Ethernet0": {"asn": "2"}},
    }


PORT = {"lanes": "8,9,10,11", "alias": "etp2", "index": "2", "subport": "0", "mtu": "9100"}
METADATA = {
    "hwsku": "ACS-MSN4600",
    "platform": "x86_64-mlnx_msn4600-r0",
    "mac": "02:00:00:00:00:01",
}


def test_sonic_keeps_the_platforms_own_alias_and_index_and_its_other_ports() -> None:
    running = {
        "PORT": {"Ethernet4": PORT, "Ethernet512": {"lanes": "512", "speed": "25000"}},
        "DEVICE_METADATA": {"localhost": METADATA},
    }
    rendered = {
        "PORT": {
            "Ethernet4": PORT | {"alias": "Ethernet4", "index": "9", "mtu": "9214"},
            "Ethernet8": {"lanes": "16,17,18,19", "mtu": "9214"},
        },
        "DEVICE_METADATA": {"localhost": METADATA | {"hostname": "a-leaf01", "mac": "other"}},
    }
    text = filters.merged(json.dumps(rendered), "{}", "sonic", json.dumps(running))
    assert json.loads(text) == {
        "PORT": {
            "Ethernet4": PORT | {"mtu": "9214"},
            "Ethernet8": {"lanes": "16,17,18,19", "mtu": "9214"},
            "Ethernet512": {"lanes": "512", "speed": "25000"},
        },
        "DEVICE_METADATA": {"localhost": METADATA | {"hostname": "a-leaf01"}},
    }


@pytest.mark.parametrize(
    ("table", "row", "fields", "said"),
    [
        (
            "PORT",
            "Ethernet4",
            PORT | {"lanes": "4,5,6,7"},
            "lanes of Ethernet4 is 8,9,10,11, the file has 4,5,6,7: check its SKU or breakout",
        ),
        (
            "DEVICE_METADATA",
            "localhost",
            METADATA | {"hwsku": "ACS-MSN4600C"},
            "hwsku of localhost is ACS-MSN4600, the file has ACS-MSN4600C: check its SKU",
        ),
    ],
)
def test_sonic_of_another_platform_is_refused(
    table: str, row: str, fields: dict[str, str], said: str
) -> None:
    running = {"PORT": {"Ethernet4": PORT}, "DEVICE_METADATA": {"localhost": METADATA}}
    rendered = json.dumps({table: {row: fields}})
    with pytest.raises(ValueError, match=said):
        filters.merged(rendered, "{}", "sonic", json.dumps(running))


def test_nvue_gets_users_beside_what_was_rendered() -> None:
    rendered = "- header: {model: x}\n- set:\n    system: {hostname: leaf}\n"
    secrets = "system: {aaa: {user: {ada: {role: system-admin}}}}"
    document = yaml.safe_load(filters.merged(rendered, secrets, "nvue", ""))
    assert document[1]["set"]["system"] == {
        "hostname": "leaf",
        "aaa": {"user": {"ada": {"role": "system-admin"}}},
    }


def test_a_cli_gets_its_users_first_and_an_empty_template_is_nothing() -> None:
    assert filters.merged("hostname x\n", None, "frr", "") == "hostname x\n"
    assert filters.merged("hostname x\n", "!\nuser y\n", "eos", "") == "user y\nhostname x\n"


def test_the_difference_is_empty_where_there_is_none() -> None:
    assert filters.difference('{"A": {"b": "1"}}', '{"A":{"b":"1"}}', "sonic") == ""
    assert filters.difference("## note\nhostname x\n", "hostname x\n", "mlnxos") == ""
    assert filters.difference("hostname x\nntp server y\n", "hostname x\n", "mlnxos") == (
        "+ntp server y"
    )


def test_nothing_secret_is_shown() -> None:
    keys = [{"name": "m", "authentication_key": "longauthkey", "privacy_key": "longprivkey"}]
    text = (
        f"username ada secret sha512 {HASH}\n-username bob secret sha512 $6$old$yyyy\n"
        "snmp-server user m readers v3 auth sha longauthkey priv aes longprivkey\n"
    )
    shown = filters.masked(text, USERS, keys)
    for secret in (HASH, "$6$old$yyyy", "longauthkey", "longprivkey"):
        assert secret not in shown
    assert "username ada secret" in shown


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("-tacacs-server host 10.0.0.9 key 7 0822455D0A16", "0822455D0A16"),
        ("-radius-server key 0 plainkey", "plainkey"),
        ("-snmp-server community s3cret ro", "s3cret"),
        ("-        password: old one", "old one"),
        ("-        encrypt-aes: oldkey", "oldkey"),
        ('-    "passkey": "hunter2",', "hunter2"),
        ('-    "SNMP_USER_AUTH_PASSWORD": "oldauth",', "oldauth"),
        ("-tacacs-server key 8a $abc$def", "$abc$def"),
    ],
)
def test_nothing_secret_is_shown_of_what_is_removed(line: str, secret: str) -> None:
    shown = filters.masked(line, [], [])
    assert secret not in shown
    assert shown.startswith(line.partition(secret)[0])


def test_an_empty_value_of_the_vault_hides_nothing() -> None:
    user = {"name": "ada", "password_hash": "", "authorized_key": "ssh-ed25519 AAAA"}
    assert filters.masked("hostname x", [user], []) == "hostname x"


def bgp(**states: str) -> str:
    """Return what `show bgp summary json` prints."""
    peers = {name: {"state": state} for name, state in states.items()}
    return json.dumps({"ipv4Unicast": {"peers": peers, "as": 65001}})


def test_a_session_that_was_up_and_is_not_is_lost() -> None:
    before = filters.sessions(bgp(swp1="Established", swp2="Established", swp3="Idle"), "nvue")
    after = filters.sessions(bgp(swp1="Established", swp2="Active", swp3="Idle"), "nvue")
    assert filters.lost(before, after) == ["swp2"]
    assert filters.down(after) == ["swp2", "swp3"]


def test_a_session_that_is_no_longer_wanted_is_not_lost_unless_all_are() -> None:
    before = filters.sessions(bgp(swp1="Established", swp2="Established"), "frr")
    one = filters.sessions(bgp(swp1="Established"), "frr")
    assert filters.lost(before, one) == []
    assert filters.lost(before, {}) == ["swp1", "swp2"]
    assert filters.lost({}, {}) == []


def named(**states: str) -> str:
    """Return what `show bgp summary json` prints of neighbours that say their names."""
    peers = {
        name: {"state": state, "hostname": f"switch-of-{name}"} for name, state in states.items()
    }
    return json.dumps({"ipv4Unicast": {"peers": peers}})


def test_a_peer_is_well_but_for_what_it_lost_since_the_start() -> None:
    before = named(swp1="Established", swp2="Established", swp3="Idle")
    assert filters.peer_lost(before, before, "frr", "x") == []
    after = named(swp1="Established", swp2="Active", swp3="Idle")
    assert filters.peer_lost(before, after, "frr", "x") == ["swp2"]
    assert filters.peer_lost(before, after, "frr", "switch-of-swp2") == []
    assert filters.peer_lost(bgp(swp1="Idle"), bgp(swp1="Idle"), "frr", "x") == []
    forgotten = bgp(swp1="Established", swp2="Active", swp3="Idle")
    assert filters.peer_lost(before, forgotten, "frr", "switch-of-swp2") == []


def test_eos_says_how_a_neighbour_is_described() -> None:
    def answer(state: str) -> str:
        peers = {
            "10.0.0.1": {"peerState": state, "description": "a-leaf01"},
            "10.0.0.3": {"peerState": "Established", "description": "a-leaf02"},
        }
        return json.dumps({"vrfs": {"default": {"peers": peers}}})

    assert filters.sessions(answer("Idle"), "eos") == {"10.0.0.1": False, "10.0.0.3": True}
    assert filters.peer_lost(answer("Established"), answer("Idle"), "eos", "a-leaf02") == [
        "10.0.0.1"
    ]
    assert filters.peer_lost(answer("Established"), answer("Idle"), "eos", "a-leaf01") == []


def test_infiniband_ports_with_a_cable_count() -> None:
    text = "".join(
        f"IB1/{port} state:\n   Logical port state   : {logical}\n"
        f"   Physical port state  : {physical}\n"
        for port, logical, physical in (
            (1, "Active", "LinkUp"), (2, "Initialize", "LinkUp"), (3, "Down", "Polling"),
        )
    )  # fmt: skip
    assert filters.sessions(text, "mlnxos") == {"IB1/1": True, "IB1/2": False}


def test_times() -> None:
    assert [filters.minutes(s) for s in (60, 61, 300)] == [1, 2, 5]
    assert filters.clock(3661) == "01:01:01"
    clock = "Time: 23:59:50\nDate: 2030/12/31\n"
    assert filters.after(clock, 20) == "00:00:10 date 2031/01/01"


def test_commands_reach_the_switch_as_they_are() -> None:
    import shlex

    commands = ["enable", 'interface ib 1/1 description "a-cn0001 mlx5_0"', "banner it's"]
    (argument,) = shlex.split(filters.quoted(commands))
    assert shlex.split(argument) == commands


def test_a_lost_peer_is_missed_before_a_change_is_judged(tmp_path: Path) -> None:
    defaults = yaml.safe_load((REPO / "roles/switch_config/defaults/main.yml").read_text())
    files = list((rendered(lab_roce(tmp_path, "frr"), tmp_path) / "frr").rglob("*.conf"))
    assert files
    for file in files:
        holds_s = re.findall(r"timers (?:bgp )?\d+ (\d+)$", file.read_text(), re.MULTILINE)
        assert holds_s
        assert max(map(int, holds_s)) < defaults["switch_config_soak_s"]


def test_eapi_listens_where_eos_is_managed(tmp_path: Path) -> None:
    files = list((rendered(lab_roce(tmp_path, "eos"), tmp_path) / "eos").glob("*.cfg"))
    assert files
    for file in files:
        management, serving = in_vrfs("\n".join(filters.lines(file.read_text())))
        assert serving == {management} == {"MGMT"}


@pytest.mark.parametrize(
    ("commands", "serving"),
    [
        ("   no shutdown", {"default"}),
        (
            "   no shutdown\n   vrf default\n      shutdown\n   vrf MGMT\n      no shutdown",
            {"MGMT"},
        ),
        ("   vrf MGMT\n      no shutdown", set()),
    ],
)
def test_eapi_is_in_a_vrf_that_names_it_once_it_is_on(commands: str, serving: set[str]) -> None:
    text = f"interface Management1\n   vrf MGMT\nmanagement api http-commands\n{commands}"
    assert in_vrfs(text) == ("MGMT", serving)
