"""`render` writes all or nothing, and nothing of anyone else's."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from tests.conftest import REPO, MakeSite

from fireflyer.cli import main
from fireflyer.errors import OperatingError
from fireflyer.render import tree
from fireflyer.render.tree import write_tree

LAB = str(REPO / "inventory" / "lab")


def listing(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_the_manifest_lists_every_file(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["render", LAB, "--out", str(out)]) == 0
    manifest = json.loads((out / "manifest.json").read_text())
    found = listing(out)
    found.pop("manifest.json")
    assert {entry["path"]: entry["sha256"] for entry in manifest["files"]} == found
    for entry in manifest["files"]:
        assert (out / entry["path"]).stat().st_size == entry["bytes"]
    assert list(tmp_path.iterdir()) == [out]  # no scratch is left behind


def test_twice_gives_the_same_manifest(tmp_path: Path) -> None:
    for name in ("one", "two"):
        main(["render", LAB, "--out", str(tmp_path / name)])
    main(["render", LAB, "--out", str(tmp_path / "one")])
    assert listing(tmp_path / "one") == listing(tmp_path / "two")


def test_only_replaces_one_group_and_keeps_the_others(tmp_path: Path) -> None:
    out = tmp_path / "out"
    main(["render", LAB, "--out", str(out)])
    whole = listing(out)
    (out / "slurm" / "topology.conf").write_text("edited\n")
    assert main(["render", LAB, "--out", str(out), "--only", "slurm"]) == 0
    assert listing(out) == whole


def test_only_refuses_to_vouch_for_an_edited_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    main(["render", LAB, "--out", str(out)])
    (out / "cabling" / "cables.csv").write_text("edited\n")
    assert main(["render", LAB, "--out", str(out), "--only", "slurm"]) == 2
    assert "cables.csv was edited since it was rendered; render without --only" in (
        capsys.readouterr().err
    )
    assert (out / "cabling" / "cables.csv").read_text() == "edited\n"


def test_only_refuses_to_mix_sites(
    tmp_path: Path, make_site: MakeSite, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    main(["render", LAB, "--out", str(out)])
    other = str(make_site("lab", {"cluster.name": "other"}))
    assert main(["render", other, "--out", str(out), "--only", "slurm"]) == 2
    assert "holds lab, not other; render all of other" in capsys.readouterr().err


def test_a_link_to_a_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert main(["render", LAB, "--out", str(tmp_path / "link")]) == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "manifest.json").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


@pytest.mark.parametrize("out", [".", "..", "/", "/proc/nothing", "a" * 300])
def test_odd_places_are_refused(
    out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["render", LAB, "--out", out]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["[]", "null", "{", '{"site": "lab", "files": [{"path": 1}]}'])
def test_a_damaged_manifest_is_named(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    main(["render", LAB, "--out", str(out)])
    (out / "manifest.json").write_text(text)
    capsys.readouterr()
    assert main(["render", LAB, "--out", str(out)]) == 2
    assert f"manifest.json is damaged; remove {out}" in capsys.readouterr().err


def test_a_failing_render_leaves_the_old_tree_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    write_tree(out, "lab", [{"a/one": "1\n", "a/two": "2\n"}.items], ("a",))
    before = listing(out)

    def full(new: Path, folder: Path) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(tree, "_exchange", full)
    with pytest.raises(OSError, match="no space"):
        write_tree(out, "lab", [{"a/one": "changed\n"}.items], ("a",))
    assert listing(out) == before
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("renameat2", [True, False])
def test_a_file_that_is_no_longer_rendered_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renameat2: bool
) -> None:
    if not renameat2:  # an old C library, or a file system that cannot exchange
        monkeypatch.setattr("fireflyer.render.tree.ctypes.CDLL", lambda *_, **__: object())
    out = tmp_path / "out"
    write_tree(out, "lab", [{"a/one": "1\n", "a/two": "2\n"}.items], ("a",))
    write_tree(out, "lab", [{"a/one": "3\n"}.items], ("a",))
    assert sorted(listing(out)) == ["a/one", "manifest.json"]
    assert (out / "a" / "one").read_text() == "3\n"
    assert list(tmp_path.iterdir()) == [out]


def test_a_folder_that_was_not_rendered_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work\n")
    with pytest.raises(OperatingError, match="is not empty and was not rendered"):
        write_tree(tmp_path, "lab", [{"a/one": "1\n"}.items], ("a",))
    assert (tmp_path / "thesis.txt").read_text() == "years of work\n"


def test_a_foreign_file_in_a_rendered_folder_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_tree(out, "lab", [{"a/one": "1\n"}.items], ("a",))
    (out / "a" / "notes.txt").write_text("mine\n")
    with pytest.raises(OperatingError, match=r"files that render did not write \(a/notes.txt\)"):
        write_tree(out, "lab", [{"a/one": "2\n"}.items], ("a",))
    assert (out / "a" / "one").read_text() == "1\n"


def test_a_file_in_the_place_of_the_folder_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.write_text("a file\n")
    assert main(["render", LAB, "--out", str(out)]) == 2
    assert "is a file; name a folder to write to" in capsys.readouterr().err
