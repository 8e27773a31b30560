"""MCP servers that are searched and read: those of `--mcp`, and those of the user's own file.

The file has the form that other clients know, `{"mcpServers": {"notes": {"command": "...", "args":
[...]}}}`. No file of a folder is read for it: what is named here is started.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError

from agent.calls.input_file import read_json
from agent.errors import UsageError
from agent.settings.fields import Settings
from agent.state import Frozen, get_path

REMEDY = 'Write it as {"mcpServers": {"NAME": {"command": "...", "args": []}}}, or with "url".'


class McpServer(Frozen):
    """A server: a command that is started, or an address. `search` and `fetch` name its tools."""

    name: str
    command: tuple[str, ...] = ()
    url: str = Field(default="", pattern="^(https?://.*)?$")
    headers: dict[str, str] = {}
    env: dict[str, str] = {}  # besides a few of the shell's variables, none of which is a key
    cwd: str = ""  # empty: the current folder
    search: str = ""
    fetch: str = ""

    @property
    def secrets(self) -> list[str]:
        """The secrets of this server, which no other one gets."""
        return [*self.headers.values(), *self.env.values()]


def find_mcp_servers(settings: Settings) -> tuple[McpServer, ...]:
    """The servers that the settings name, each under a name of its own. Raises UsageError."""
    servers: dict[str, McpServer] = {}
    for server in (*map(_of_option, settings.mcp), *_of_file(settings.mcp_servers)):
        stem = re.sub(r"[^a-z0-9._-]+", "-", server.name.lower()).strip("-.") or "server"
        names = (stem, *(f"{stem}-{n}" for n in range(2, len(servers) + 2)))
        name = next(name for name in names if name not in servers)
        servers[name] = server.model_copy(update={"name": name})
    return tuple(servers.values())


def _of_option(text: str) -> McpServer:
    if text.startswith(("http://", "https://")):
        return McpServer(name=urlsplit(text).hostname or "", url=text)
    try:
        command = tuple(shlex.split(text))
    except ValueError:
        command = ()
    if not command:
        fault = "--mcp: this is neither an address nor a command."
        raise UsageError(fault, "Give http://... or a command, quoted as for a shell.")
    words = [word for word in command if not word.startswith("-")] or command
    return McpServer(name=Path(words[:2][-1]).stem, command=command)  # `npx -y NAME`


def _of_file(path: Path | None) -> Iterator[McpServer]:
    """The servers of a file, without those that are disabled. They start in the user's home."""
    if path is None:
        return
    path = path.expanduser()
    if not path.is_absolute():
        fault = f"RESEARCH_AGENT_MCP_SERVERS: {path} would be another file in each folder."
        raise UsageError(fault, "Give its full path.")
    content = read_json(path, REMEDY)
    entries = get_path(content, "mcpServers") or get_path(content, "servers")
    if not isinstance(entries, dict):
        raise UsageError(f"{path} names no MCP servers.", REMEDY)
    for name, entry in entries.items():
        if get_path(entry, "disabled") is not True:
            yield _of_entry(path, str(name), entry)


def _of_entry(path: Path, name: str, entry: Any) -> McpServer:
    raw = entry if isinstance(entry, dict) else {}
    fields = {key: raw[key] for key in McpServer.model_fields.keys() & raw.keys()}
    command = [raw["command"], *raw.get("args", ())] if raw.get("command") else []
    url = raw.get("url") or raw.get("serverUrl") or ""
    values = {"cwd": str(Path.home()), **fields, "name": name, "command": command, "url": url}
    try:
        server = McpServer.model_validate(values)
    except (ValidationError, TypeError):
        server = McpServer(name=name)
    if bool(server.command) == bool(server.url):
        raise UsageError(f"{path}: the server {name[:80]!r} cannot be used.", REMEDY)
    return server


def secrets_of(settings: Settings) -> list[str]:
    """The API keys, and the secrets of MCP servers."""
    values = (*vars(settings).values(), *settings.keys.values())
    secrets = [value.get_secret_value() for value in values if isinstance(value, SecretStr)]
    secrets += [key for _, key in settings.servers.values()]
    return secrets + [secret for one in find_mcp_servers(settings) for secret in one.secrets]
