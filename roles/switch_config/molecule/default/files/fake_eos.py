#!/usr/bin/env python3
"""Stands for EOS's eAPI (JSON-RPC over HTTP), as far as the role uses it."""

from __future__ import annotations

import difflib
import json
import re
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

STATE = Path("/var/lib")
RUNNING, FORMER, SAVED = STATE / "fake_running", STATE / "fake_former", STATE / "fake_saved"
TIMER = STATE / "fake_timer"


def in_vrfs(text: str) -> tuple[str, set[str]]:
    """Return the VRF of Management1, and those in which eAPI listens.

    EOS serves the default VRF once the API is on, unless it is shut there; another VRF only
    where it is named.
    """
    management, serving, on, block, vrf = "default", {"default"}, False, "", "default"
    for line in text.splitlines():
        words = line.split()
        if not line.startswith(" "):
            block, vrf = line, "default"
        elif block == "interface Management1" and words[0] == "vrf":
            management = words[1]
        elif block == "management api http-commands" and words[0] == "vrf":
            vrf = words[1]
        elif block == "management api http-commands" and words == ["no", "shutdown"]:
            on = on or not line.startswith("      ")
            serving.add(vrf)
        elif block == "management api http-commands" and words == ["shutdown"]:
            serving.discard(vrf)
    return management, serving if on else set()


class RefusedError(Exception):
    """A command that EOS would not take."""


def run(commands: list[str]) -> list[str | dict[str, Any]]:
    """Run the commands of one request, in which a session is open or not."""
    session: list[str] | None = None
    answers: list[str | dict[str, Any]] = []
    for line in commands:
        answer: str | dict[str, Any] = ""
        if line == "configure session switch-config":
            session = RUNNING.read_text().splitlines()
        elif line == "configure session switch-config commit":
            FORMER.unlink()
            TIMER.unlink()
        elif line == "configure session switch-config abort":
            if FORMER.exists():  # else nothing was committed yet
                FORMER.rename(RUNNING)
                TIMER.unlink()
        elif line == "write memory":
            SAVED.write_text(RUNNING.read_text())
        elif session is not None:
            session, answer = in_session(session, line)
        else:
            answer = show(line)
        answers.append(answer)
    return answers


def in_session(session: list[str], line: str) -> tuple[list[str] | None, str]:
    """Take a command inside a configuration session."""
    if line == "rollback clean-config":
        return [], ""
    if line == "abort":
        return None, ""
    if line == "show session-config diffs":
        before = RUNNING.read_text().splitlines()
        kept = [text for text in before if text and text[0] != "!" and text != "end"]
        return session, "\n".join(difflib.unified_diff(kept, session, lineterm="", n=0))
    if found := re.fullmatch(r"commit timer (\d\d:\d\d:\d\d)", line):
        management, serving = in_vrfs("\n".join(session))
        if management not in serving:
            raise RefusedError(f"nobody would get in: no eAPI in vrf {management}")
        FORMER.write_text(RUNNING.read_text())
        RUNNING.write_text("\n".join(session) + "\nend\n")
        TIMER.write_text(found[1])
        return None, ""
    if line.startswith("bogus"):
        raise RefusedError(f"Invalid input: {line}")
    return [*session, line], ""


def show(line: str) -> str | dict[str, Any]:
    """Answer a show command."""
    text = RUNNING.read_text()
    if line == "show running-config":
        return text
    if line == "show configuration sessions":
        return "Maximum number of completed sessions: 1"
    if line == "show version":
        return {"version": "4.32.0F", "modelName": "fake"}
    if line == "show hostname":
        return {"hostname": "fake"}
    if line == "show ip bgp summary":
        peers = {
            name: {"peerState": "Established" if asn == "65100" else "Active"}
            for name, asn in re.findall(r"neighbor (\S+) remote-as (\d+)", text)
        }
        return {"vrfs": {"default": {"peers": peers}}}
    raise RefusedError(f"Invalid input: {line}")


class Handler(BaseHTTPRequestHandler):
    """The endpoint /command-api."""

    def do_POST(self) -> None:
        """Answer one request."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        lines = [c["cmd"] if isinstance(c, dict) else c for c in request["params"]["cmds"]]
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            reply["result"] = [
                answer if isinstance(answer, dict) else {"output": answer} for answer in run(lines)
            ]
        except RefusedError as error:
            data = [{"errors": [str(error)]}]
            reply["error"] = {"code": 1002, "message": str(error), "data": data}
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    HTTPServer(("", 80), Handler).serve_forever()
