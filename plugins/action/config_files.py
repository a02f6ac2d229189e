"""Make a role's files on the controller and have them written on a host by one module."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase
from ansible.template import trust_as_template

SOURCES = ("template", "file", "content")
LAYOUT = {"trim_blocks": True, "lstrip_blocks": False}
"""As `ansible.builtin.template` has it."""


class ActionModule(ActionBase):  # type: ignore[misc] # Ansible has no types
    """Render what is a template, and hand all files to the module `config_files`.

    Each task that runs a module on a host costs a round trip and an interpreter; a role's files
    are one.

    Arguments: those of the module, whose files have `template` or `file`, a path below the role's
    `templates` or `files`, in place of `content`.
    """

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return what the module says; AnsibleActionFail if a file cannot be made."""
        super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        files = arguments.get("files")
        if not isinstance(files, list) or not all(isinstance(file, Mapping) for file in files):
            raise AnsibleActionFail("config_files: files must be a list of {template, dest, ...}")
        arguments["files"] = [self._made(dict(file), task_vars or {}) for file in files]
        result: dict[str, Any] = self._execute_module(
            module_name="fireflyer.cluster.config_files",
            module_args=arguments,
            task_vars=task_vars,
        )
        return result

    def _made(self, file: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Return the file with its content in place of the source that it names."""
        named = [source for source in SOURCES if source in file]
        if len(named) != 1:
            raise AnsibleActionFail(
                f"config_files: {file.get('dest', file)} needs one of {', '.join(SOURCES)},"
                f" and has {' and '.join(named) or 'none'}"
            )
        [source] = named
        given = str(file.pop(source))
        if source == "content":
            return file | {"content": given}
        try:
            path = self._find_needle(f"{source}s", given)
        except AnsibleError as error:
            raise AnsibleActionFail(f"config_files: {file.get('dest')}: {error}") from error
        text = self._loader.get_text_file_contents(path)
        if source == "template":
            text = self._rendered(path, text, task_vars)
        return file | {"content": str(text)}

    def _rendered(self, path: str, text: str, task_vars: dict[str, Any]) -> str:
        managed = constants.config.get_config_value("DEFAULT_MANAGED_STR")
        folders = [Path(each) for each in task_vars.get("ansible_search_path", [])]
        folders.append(Path(path).parent)
        templar = self._templar.copy_with_new_env(
            searchpath=[str(each) for folder in folders for each in (folder / "templates", folder)],
            available_variables={"ansible_managed": managed} | task_vars,
        )
        made = templar.template(trust_as_template(text), escape_backslashes=False, overrides=LAYOUT)
        return "" if made is None else str(made)
