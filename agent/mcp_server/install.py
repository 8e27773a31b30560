"""The entry of this server in the settings of a client: Claude Desktop, Cursor, VS Code."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from platformdirs import PlatformDirs

from agent.errors import UsageError
from agent.outside.input_file import read_json
from agent.state.json_data import Json

NAME = "research"


class ClientFile(NamedTuple):
    """The file of a client's settings, and the name under which it has servers."""

    path: Path
    key: str


def client_file(client: str) -> ClientFile:
    """Where a client keeps its servers: `claude`, `cursor` or `vscode`."""
    if client == "cursor":
        return ClientFile(Path.home() / ".cursor" / "mcp.json", "mcpServers")
    name = {"claude": "Claude", "vscode": "Code"}[client]
    folder = PlatformDirs(name, appauthor=False, roaming=True).user_config_path
    if client == "claude":
        return ClientFile(folder / "claude_desktop_config.json", "mcpServers")
    return ClientFile(folder / "User" / "mcp.json", "servers")


def make_entry(client: str, arguments: list[str]) -> Json:
    """What starts this server with some options."""
    program = shutil.which("research-agent")
    command = [program, "mcp"] if program else [sys.executable, "-m", "agent.mcp_server"]
    entry: Json = {"command": command[0], "args": [*command[1:], *arguments]}
    return {"type": "stdio", **entry} if client == "vscode" else entry


def add_entry(file: ClientFile, entry: Json) -> Json:
    """The content of a client's file with the entry, and all else as it is. Raises UsageError."""
    remedy = "It is left as it is: add by hand what is printed without --write."
    told = read_json(file.path, remedy) if file.path.exists() else {}
    servers = told.get(file.key, {}) if isinstance(told, dict) else None
    if not isinstance(servers, dict):
        raise UsageError(f"{file.path} is not a client's settings.", remedy)
    return {**told, file.key: {**servers, NAME: entry}}
