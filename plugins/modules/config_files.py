#!/usr/bin/python
"""Write a role's files on the host it runs on, all or none of them."""

from __future__ import annotations

DOCUMENTATION = r"""
module: config_files
short_description: Write a role's configuration files, all or none of them
version_added: "0.1.0"
description:
  - Makes all files of a role on the controller, compares them with the host's, and replaces those
    that differ, each in one step. Before the first is replaced, every one that names a C(validate)
    command has to pass it.
  - Where a unit of the service manager reads them, it also tells which of them came after the unit
    started, as a run that was cut short leaves them. That counts as a change, so that the task's
    handler restarts the unit.
options:
  files:
    description: The files, in the order in which they are written; none where another task wrote
      them.
    type: list
    elements: dict
    required: true
    suboptions:
      dest:
        description: Path on the host. A folder of it that is missing is created, root's and 0755.
        type: path
        required: true
      template:
        description: Template on the controller, below the role's C(templates).
        type: str
      file:
        description: File on the controller, below the role's C(files), taken as it is.
        type: str
      content:
        description: The content itself.
        type: str
      owner:
        description: User that owns it.
        type: str
        default: root
      group:
        description: Group that owns it.
        type: str
        default: root
      mode:
        description: Its permissions, a string such as C("0644").
        type: raw
        default: "0644"
      validate:
        description: Command that ends with 0 where the file is right; C(%s) is the path of a copy.
        type: str
      backup:
        description: Keep the one that was there beside it, with its date in its name.
        type: bool
        default: false
  read_by:
    description:
      - Unit that reads the files when it starts, or the path of a file that is touched whenever
        they are read.
    type: str
  read_at:
    description: Property of the unit that says when it last read them.
    type: str
    choices: [ActiveEnterTimestamp, StateChangeTimestamp]
    default: ActiveEnterTimestamp
  also_read:
    description: Other files that it reads then, which another task wrote.
    type: list
    elements: path
    default: []
attributes:
  check_mode:
    support: full
    description: Says what it would write.
  diff_mode:
    support: full
    description: Shows what differs.
author:
  - The blueprint's authors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Write chrony's configuration
  fireflyer.cluster.config_files:
    files:
      - {template: chrony.conf.j2, dest: /etc/chrony/chrony.conf}
      - {template: chrony.default.j2, dest: /etc/default/chrony}
    read_by: chrony
  notify: Restart chrony
"""

RETURN = r"""
written:
  description: The paths whose content or permissions changed.
  returned: success
  type: list
  elements: str
unread:
  description: The paths that came after the unit of C(read_by) read them.
  returned: success
  type: list
  elements: str
"""

import os
import shlex
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

FILE: dict[str, dict[str, Any]] = {
    "dest": {"type": "path", "required": True},
    "template": {"type": "str"},
    "file": {"type": "str"},
    "content": {"type": "str"},
    "owner": {"type": "str", "default": "root"},
    "group": {"type": "str", "default": "root"},
    "mode": {"type": "raw", "default": "0644"},
    "validate": {"type": "str"},
    "backup": {"type": "bool", "default": False},
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "files": {"type": "list", "elements": "dict", "required": True, "options": FILE},
    "read_by": {"type": "str"},
    "read_at": {
        "type": "str",
        "choices": ["ActiveEnterTimestamp", "StateChangeTimestamp"],
        "default": "ActiveEnterTimestamp",
    },
    "also_read": {"type": "list", "elements": "path", "default": []},
}
File = dict[str, Any]
"""One of `files`, its defaults filled in."""


def main() -> None:
    """Compare, validate, write, and tell what the unit has not read."""
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    os.umask(0o022)  # for the folders, whatever the host has
    files: list[File] = module.params["files"]
    for file in files:
        if file["content"] is None:  # the action plugin of this name makes it
            module.fail_json(msg=f"{file['dest']} has no content")
        if not isinstance(file["mode"], str):  # of 0640 YAML makes the number 416
            module.fail_json(msg=f"{file['dest']}: mode is a number; put it in quotes")
        file["dest"] = str(Path(file["dest"]))
    if len({file["dest"] for file in files}) < len(files):
        module.fail_json(msg="two files have the same dest")
    before = {file["dest"]: _read(module, Path(file["dest"])) for file in files}
    differ = [file for file in files if file["content"].encode() != before[file["dest"]]]
    for file in differ:
        if file["validate"]:
            _validate(module, file)
    if not module.check_mode:
        _write(module, differ)
    written = []
    for file in files:
        differs = file in differ
        there = before[file["dest"]] is not None or not module.check_mode
        if (there and _set_attributes(module, file, file["dest"])) or differs:
            written.append(file["dest"])
    new = set() if module.check_mode else {file["dest"] for file in differ}
    unread = _unread(module, [Path(path) for path in [*before, *module.params["also_read"]]], new)
    module.exit_json(
        changed=bool(written or unread),
        written=written,
        unread=unread,
        diff=[_difference(file, before[file["dest"]]) for file in differ if module._diff],
    )


def _read(module: AnsibleModule, path: Path) -> bytes | None:
    """Return what the file holds; nothing where there is none."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        module.fail_json(msg=f"{path} cannot be read: {error.strerror}")
        raise


def _validate(module: AnsibleModule, file: File) -> None:
    words = shlex.split(file["validate"])
    if not any("%s" in word for word in words):
        module.fail_json(msg=f"{file['dest']}: validate names no %s: {file['validate']}")
    if module.check_mode and module.get_bin_path(words[0]) is None:
        return  # its package is not there yet
    with tempfile.NamedTemporaryFile(dir=module.tmpdir) as copy:
        copy.write(file["content"].encode())
        copy.flush()
        command = [word.replace("%s", copy.name) for word in words]
        code, said, error = module.run_command(command)
    if code != 0:
        said = f"{said}{error}".replace(copy.name, file["dest"]).strip()
        module.fail_json(
            msg=f"{file['dest']} would not be right, so nothing is written: `{file['validate']}`"
            f" ends with {code}: {said}"
        )


def _write(module: AnsibleModule, files: list[File]) -> None:
    """Replace the files, each in one step, once all of them are there beside the former ones."""
    made: dict[Path, Path] = {}
    path = Path()
    try:
        for file in files:
            path = Path(file["dest"])
            made[path] = _written_beside(module, file, path)
        for file in files:
            path = Path(file["dest"])
            if file["backup"]:
                module.backup_local(file["dest"])
            made[path].replace(path)
    except OSError as error:
        module.fail_json(msg=f"{path} cannot be written: {error.strerror}")
    finally:  # fail_json ends the program by an exception
        for new in made.values():
            new.unlink(missing_ok=True)


def _written_beside(module: AnsibleModule, file: File, path: Path) -> Path:
    """Return a new file in the same folder that has the content, owner and permissions."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    # A name that sudo, cron, systemd and the folders' globs pass over.
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(file["content"].encode())
            stream.flush()
            os.fsync(stream.fileno())
        _set_attributes(module, file, name)
    except BaseException:
        Path(name).unlink()
        raise
    return Path(name)


def _set_attributes(module: AnsibleModule, file: File, path: str) -> bool:
    """Set owner, group and mode; return whether they were others."""
    asked = {"path": path, **{key: file[key] for key in ("owner", "group", "mode")}}
    arguments = module.load_file_common_arguments(asked)
    return bool(module.set_fs_attributes_if_different(arguments, False))


def _unread(module: AnsibleModule, paths: list[Path], new: set[str]) -> list[str]:
    """Return the paths that are newer than the time at which they were last read.

    What was written just now is, even where the clock was ahead when the unit read its files.
    """
    at_s = _read_at_s(module)
    if at_s is None:
        return []
    return [
        str(path)
        for path in paths
        if str(path) in new or (path.exists() and path.stat().st_mtime > at_s)
    ]


def _read_at_s(module: AnsibleModule) -> float | None:
    """Return when the files were last read, in seconds since 1970; none where nobody tells.

    A unit that has not started does not: what starts it reads them.
    """
    read_by = module.params["read_by"]
    if not read_by:
        return None
    if read_by.startswith("/"):
        mark = Path(read_by)
        return mark.stat().st_mtime if mark.exists() else 0.0
    show = ["systemctl", "show", "--value", "--timestamp=us+utc"]
    code, said, error = module.run_command(
        [*show, f"--property={module.params['read_at']}", read_by]
    )
    if code != 0:
        module.fail_json(msg=f"{read_by}: {error.strip()}")
    words = said.split()  # Mon 2026-11-23 11:13:17.123456 UTC
    if len(words) != 4:
        return None
    at = datetime.strptime(f"{words[1]} {words[2]}", "%Y-%m-%d %H:%M:%S.%f")
    return at.replace(tzinfo=timezone.utc).timestamp()


def _difference(file: File, before: bytes | None) -> dict[str, str]:
    return {
        "before_header": file["dest"],
        "after_header": file["dest"],
        "before": (before or b"").decode(errors="replace"),
        "after": file["content"],
    }


if __name__ == "__main__":
    main()
