"""Builds the image and runs it in the documented ways; stops at the first error.

Needs a Docker engine: `make container`. Each check prints one line.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import agent

ROOT = Path(__file__).parents[3]
IMAGE = "llm-research-agent"
TOPIC = "Who won the 2022 FIFA World Cup?"
SECRET = "a-secret-that-lies-in-the-checkout"
HARD = "--read-only --cap-drop ALL --security-opt no-new-privileges --network none".split()
ANY_USER = ["--user", "12345:12345"]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        image = Image(Path(folder) / "checkout")
        for name in (name for name in vars(Image) if not name.startswith("_")):
            begun = time.monotonic()
            result = getattr(image, name)()
            print(f"ok  {name.replace('_', ' ')}{result and f': {result}'}", end="")
            print(f"  ({time.monotonic() - begun:.1f} s)", flush=True)


class Serving(NamedTuple):
    """Services that run: how a container reaches them, and what their models have been asked."""

    network: list[str]
    environment: dict[str, str]
    tasks: Callable[[], list[str]]


class Image:
    """Every public method is a check, in this order; it returns what it measured."""

    def __init__(self, checkout: Path) -> None:
        self._checkout = checkout
        kept = shutil.ignore_patterns(".venv*", ".git", "__pycache__", ".*_cache", ".env")
        shutil.copytree(ROOT, checkout, ignore=kept, symlinks=True)
        for name in (".env", "agent/.env", "notes.txt"):
            (checkout / name).write_text(f"GEMINI_API_KEY={SECRET}\n")

    def the_dockerfile_is_clean(self) -> str:
        hadolint = Path(sys.executable).parent / "hadolint"
        self._do([str(hadolint), "Dockerfile"])
        return ""

    def it_builds_for_a_user_that_is_not_root(self) -> str:
        self._docker("build", "-t", IMAGE, ".")
        form = "{{.Config.User}} {{.Size}}"
        user, size = self._docker("image", "inspect", "-f", form, IMAGE).split()
        assert int(user.partition(":")[0]) > 0
        return f"{user}, {size} bytes"

    def no_layer_has_a_secret_of_the_checkout(self) -> str:
        """A text that must be found proves that the search reads the layers."""
        archive = self._checkout.parent / "image.tar"
        self._docker("save", "-o", str(archive), IMAGE)
        there = SECRET.encode(), str(agent.__doc__).splitlines()[0].encode()
        assert _found_in(archive, there) == [False, True]
        archive.unlink()
        return ""

    def without_a_key_it_says_so(self) -> str:
        answer = self._ask(TOPIC, env={"GEMINI_API_KEY": ""}, status=1)
        assert answer["status"] == "error" and answer["citations"] == []
        return str(answer["error"]["message"])

    def offline_it_answers(self) -> str:
        answer = self._ask("--offline", TOPIC, env={})
        return _expect_argentina(answer)

    def with_keys_it_answers_from_the_services(self) -> str:
        with self._serving("quick") as (network, env, tasks):
            answer = self._ask(TOPIC, env=env, run=network)
            assert not answer["degraded"] and "synthesize" in tasks()[-2:]
        return _expect_argentina(answer)

    def with_nothing_writable_it_answers(self) -> str:
        answer = self._ask("--offline", TOPIC, env={}, run=[*HARD, *ANY_USER])
        assert answer["run"]["journal"] is None and len(answer["warnings"]) > 1
        return _expect_argentina(answer)

    def hardened_it_answers(self) -> str:
        hard = [*HARD, *ANY_USER, "--tmpfs", "/tmp"]
        answer = self._ask("--offline", TOPIC, env={}, run=hard)
        assert answer["run"]["journal"]
        return _expect_argentina(answer)

    def its_code_cannot_be_written(self) -> str:
        find = ["--entrypoint", "find", IMAGE, "/venv", "-writable", "-not", "-type", "l"]
        assert self._docker("run", "--rm", *find) == ""
        return ""

    def it_reads_a_mounted_corpus(self) -> str:
        corpus = self._checkout.parent / "corpus"
        corpus.mkdir()
        text = "# Larch Lodge\n\nLarch Lodge was opened in 1931 by Ada Quill. It has nine rooms.\n"
        (corpus / "lodge.md").write_text(text)
        mount = ["-v", f"{corpus}:/corpus:ro", *HARD, "--tmpfs", "/tmp"]
        question = ["--corpus", "/corpus", "--offline", "Who opened Larch Lodge?"]
        answer = self._ask(*question, env={}, run=mount)
        assert "Ada Quill" in answer["answer"] and answer["citations"], answer
        return str(answer["answer"])

    def it_stops_at_once(self) -> str:
        """`docker stop` while a model thinks for a minute: still an answer, before it is killed."""
        with self._serving("slow") as (network, env, tasks):
            self._write_env(env)
            run = ["run", "-d", *network, "--env-file", ".env", IMAGE, TOPIC]
            container = self._docker(*run).strip()
            _wait_until(tasks)
            begun = time.monotonic()
            self._docker("stop", container)
            seconds = time.monotonic() - begun
            answer = json.loads(self._docker("logs", container))
            self._docker("rm", container)
        return f"{seconds:.1f} s, status {answer['status']}"

    def compose_runs_it(self) -> str:
        compose = _compose()
        if not compose:
            return "not tried, no compose in this client"
        (self._checkout / ".env").unlink()
        answer = json.loads(self._do([*compose, "run", "--rm", "agent", "--offline", TOPIC]))
        assert answer["run"]["journal"].startswith("/data/"), answer["warnings"]
        return _expect_argentina(answer)

    def compose_serves_the_page_and_the_api(self) -> str:
        """Healthy, a token on its log, an answer for that token alone, and a clean end."""
        compose = _compose()
        if not compose:
            return "not tried, no compose in this client"
        self._do([*compose, "up", "-d"])
        try:
            name = self._do([*compose, "ps", "-q", "server"]).strip()
            health = ["inspect", "-f", "{{.State.Health.Status}}", name]
            _wait_until(lambda: self._docker(*health).strip() == "healthy", 60)
            logs = subprocess.run(["docker", "logs", name], capture_output=True, text=True).stderr
            token = re.search(r"Access token[^:]*: (\S+)", logs)
            assert token, logs
            assert b"<html" in _fetch("/", "")
            assert _fetch("/api/runs", "") == b"401"
            runs = json.loads(_fetch("/api/runs", token[1]))
            self._docker("stop", name)
            ended = self._docker("inspect", "-f", "{{.State.ExitCode}}", name).strip()
        finally:
            self._do([*compose, "down", "-v"])
        assert ended == "0"
        return f"{len(runs)} runs listed"

    # --- helpers ------------------------------------------------------------------------------

    def _ask(
        self, *arguments: str, env: dict[str, str], run: list[str] | None = None, status: int = 0
    ) -> dict[str, Any]:
        """`docker run --rm --env-file .env IMAGE ...`: stdout must be one JSON object."""
        self._write_env(env)
        command = ["run", "--rm", "--env-file", ".env", *(run or []), IMAGE, *arguments]
        answer = json.loads(self._docker(*command, status=status))
        assert isinstance(answer, dict)
        return answer

    def _write_env(self, env: dict[str, str]) -> None:
        lines = [f"{name}={value}\n" for name, value in env.items()]
        (self._checkout / ".env").write_text("".join(lines))

    @contextmanager
    def _serving(self, speed: str) -> Iterator[Serving]:
        """Services in a container of their own, whose only network is its loopback."""
        code = ["-v", f"{self._checkout}:/checkout:ro", "-e", "PYTHONPATH=/checkout"]
        serve = ["--entrypoint", "python", IMAGE, "-m", "tests.whole.container.serve", speed]
        run = ["run", "-d", "--network", "none", *code, *serve]
        container = self._docker(*run).strip()
        try:
            _wait_until(lambda: self._docker("logs", container))
            env = json.loads(self._docker("logs", container))
            yield Serving(
                ["--network", f"container:{container}"],
                {name: env[name] for name in env if not name.endswith("_DIR")},
                lambda: self._docker("logs", container).splitlines()[1:],
            )
        finally:
            self._docker("rm", "-f", container)

    def _docker(self, *arguments: str, status: int = 0) -> str:
        return self._do(["docker", *arguments], status)

    def _do(self, command: list[str], status: int = 0) -> str:
        done = subprocess.run(command, cwd=self._checkout, capture_output=True, text=True)
        if done.returncode != status:
            output = f"{done.stdout}\n{done.stderr}"[-3000:]
            raise SystemExit(f"{' '.join(command)}\nexit {done.returncode}, not {status}\n{output}")
        return done.stdout


def _expect_argentina(answer: dict[str, Any]) -> str:
    assert answer["status"] == "complete" and answer["citations"], answer
    assert "Argentina" in answer["answer"], answer["answer"]
    return ""


def _found_in(file: Path, needles: tuple[bytes, ...]) -> list[bool]:
    """Which of the needles are in the file, read in pieces that overlap."""
    found, overlap = [False] * len(needles), b""
    with file.open("rb") as stream:
        while piece := stream.read(1 << 24):
            text = overlap + piece
            found = [old or needle in text for old, needle in zip(found, needles, strict=True)]
            overlap = piece[-200:]
    return found


def _wait_until(there: Callable[[], object], seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not there():
        if time.monotonic() > until:
            raise SystemExit(f"nothing happened within {seconds} s")
        time.sleep(0.05)


def _fetch(path: str, token: str) -> bytes:
    """The body of a reply of the server; its status where it refuses."""
    headers = {"Authorization": f"Bearer {token}"}
    try:
        with urlopen(Request(f"http://127.0.0.1:8000{path}", None, headers), timeout=60) as reply:
            return bytes(reply.read())
    except HTTPError as refused:
        return str(refused.code).encode()


def _compose() -> list[str]:
    """The command of Docker Compose, if there is one: a plugin, or a program."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if not shutil.which(command[0]):
            continue
        version = subprocess.run([*command, "version", "--short"], capture_output=True, text=True)
        if version.returncode == 0:
            return [*command, "-f", "docs/compose.yaml"]
    return []


if __name__ == "__main__":
    main()
