"""Watches: the first run tells the state, later ones only what the sources say otherwise, once."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import socket
import time
from collections.abc import Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import responses
from pydantic import SecretStr

from agent.cli.shell.process import run_command
from agent.cli.watch import command
from agent.errors import ExternalCallError, UsageError
from agent.run.watch.state import Notice, WatchFiles, watch_id
from agent.run.watch.watcher import Watch
from agent.run.watch.webhook import check_webhook, post_event
from agent.settings import Settings
from tests.run.watch.shop import QUESTION, open_shop, page, think
from tests.support.loopback import Loopback
from tests.support.processes import start_command
from tests.support.services import Raw, Services

APPRISE, NOTIFIED = "json://127.0.0.1:9/s3cret", "http://127.0.0.1:9/s3cret"
HOOK_PATH = "/s3cret/?a=b"
HOOK = f"http://127.0.0.1:9{HOOK_PATH}"
KEY = b"sixteen byte key"
DOWN = Raw(503, "down")


@pytest.fixture
def shop(services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    """The services of a shop, in the environment of the command."""
    monkeypatch.chdir(tmp_path)
    for name, value in services.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    open_shop(services, shop=page(120), other="Cats sleep most of the day.")
    return services


def ask(capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, list[dict[str, Any]], str]:
    """The command's exit status, what it notices, and its standard error."""
    status = run_command(command, [QUESTION, "--slots", "price", "--once", *more])
    shown = capsys.readouterr()
    return status, [json.loads(line) for line in shown.out.splitlines()], shown.err


def test_the_first_run_reports_the_state_and_later_ones_only_changes(
    shop: Services, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ("--out", "told.jsonl")
    status, notices, _ = ask(capsys, *more)
    assert (status, [one["kind"] for one in notices]) == (0, ["state"])
    assert notices[0]["values"]["price"]["value"] == "120 euros"
    shop.pages["shop"] = page(120, "Buy a cat.")
    shop.default_hits.reverse()
    assert ask(capsys, *more) == (0, [], "")  # other advertisements, another order
    shop.pages["shop"] = page(99)
    status, notices, _ = ask(capsys, *more)
    [change] = notices
    assert status == 0 and change["what"] == "price"
    old, new = change["old"], change["new"]
    assert [old["value"], new["value"]] == ["120 euros", "99 euros"]
    assert old["sources"][0]["quote"] == "The Velmora pump costs 120 euros."
    assert new["sources"][0]["quote"] == "The Velmora pump costs 99 euros."
    assert new["sources"][0]["url"] == shop.url("shop") and old["since"] <= new["since"]
    assert ask(capsys, *more) == (0, [], "")
    shop.pages["shop"] = page(120)
    assert [one["new"]["value"] for one in ask(capsys)[1]] == ["120 euros"]  # it comes back
    lines = Path("told.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["state", "change"]


@pytest.mark.slow
def test_what_read_less_or_was_degraded_is_no_change(
    shop: Services, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.pages["other"] = "By our count the Velmora pump is sold for 150 euros."
    shop.default_hits = ["shop"]
    assert ask(capsys)[1][0]["values"]["price"]["value"] == "120 euros"
    shop.default_hits = ["other"]  # a page that was never read says otherwise
    assert ask(capsys)[:2] == (0, [])
    shop.default_hits = ["shop", "other"]
    shop.pages["shop"] = DOWN
    assert ask(capsys)[:2] == (0, [])
    shop.pages["shop"] = page(99)
    shop.think = lambda asked: DOWN if "lite" not in asked.model else think(asked)
    status, notices, err = ask(capsys)  # another model stood in
    assert (status, notices) == (0, []) and "substitute" in err
    shop.think = think
    assert [one["new"]["value"] for one in ask(capsys)[1]] == ["99 euros"]


def test_what_cannot_run_says_so_and_loses_nothing(
    shop: Services, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(capsys)
    fault, shop.fault = shop.fault, lambda: Raw(500, "down")
    status, notices, err = ask(capsys)
    assert (status, notices) == (1, []) and err.startswith("Error: ")
    shop.fault = fault
    assert ask(capsys) == (0, [], "")
    assert run_command(command, [QUESTION, "--every", "1s"]) == 2
    assert run_command(command, [QUESTION, "--once", "--webhook", HOOK]) == 1
    assert run_command(command, [QUESTION, "--once", "--notify", "no-such://s3cret"]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and "s3cret" not in shown.err


def test_of_two_at_once_one_asks(
    shop: Services, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    files = WatchFiles(settings)
    with files.hold(watch_id(QUESTION, ("price",))) as is_ours:
        assert is_ours
        status, notices, err = ask(capsys)
    assert (status, notices, shop.model_requests) == (0, [], []) and "Another process" in err


class Receiver(Loopback):
    """A webhook's receiver: it repeats the path that it was asked for, as many do."""

    def __init__(self) -> None:
        self.statuses = [500, 500]  # of the next requests; then 204
        self.sent: list[tuple[str, Message, bytes]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.sent.append((self.path, self.headers, body))
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
                err = json.dumps({"error": {"message": f"no hook at {self.path}"}}).encode()
                self.send_header("Content-Length", str(len(err)))
                self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(err)

            def log_message(self, *_: Any) -> None:
                pass

        super().__init__(Handler)


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv("RESEARCH_AGENT_WEBHOOK_SECRET", f"whsec_{base64.b64encode(KEY).decode()}")
    with Receiver() as running:
        yield running


def test_a_change_is_sent_everywhere_and_again_only_where_it_failed(
    shop: Services, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    with responses.RequestsMock() as http:
        http.add_passthru(shop.base)
        http.post(NOTIFIED, body="")
        more = ("--webhook", f"{receiver.base}{HOOK_PATH}", "--notify", APPRISE)
        status, notices, err = ask(capsys, *more)
        assert (status, len(notices), len(receiver.sent)) == (1, 1, 2)
        assert "The webhook: it answers with HTTP 500" in err
        notified = json.loads(http.calls[-1].request.body)
        assert notified["title"] == f"Watching: {QUESTION}" and "120 euros" in notified["message"]
        assert ask(capsys, *more) == (0, [], "")
        path, headers, body = receiver.sent[-1]
        assert headers["webhook-id"] == notices[0]["id"] == json.loads(body)["data"]["id"]
        signed = f"{notices[0]['id']}.{headers['webhook-timestamp']}.".encode() + body
        expected = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
        assert headers["webhook-signature"] == f"v1,{expected}" and path == HOOK_PATH
        http.replace("POST", NOTIFIED, status=403)
        shop.pages["shop"] = page(99)
        status, notices, err = ask(capsys, *more)
        assert (status, len(notices)) == (1, 1) and "--notify" in err and "s3cret" not in err


@pytest.mark.parametrize("statuses", [[404], [301], [503, 503]])
def test_nothing_of_a_webhooks_address_is_told(
    statuses: list[int],
    shop: Services,
    receiver: Receiver,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The address is a secret, also where its receiver repeats it."""
    receiver.statuses = statuses
    status, notices, err = ask(capsys, "--webhook", f"{receiver.base}{HOOK_PATH}")
    assert status == 1 and "The webhook: " in err
    port = receiver.host.partition(":")[2]
    everything = f"{err}{notices}{caplog.text}"
    assert "s3cret" not in everything and f":{port}" not in everything
    assert {path for path, _, _ in receiver.sent} == {HOOK_PATH}, "no redirect is followed"


def test_a_webhook_is_looked_up_once_and_never_private(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is public when it is looked up first, and this machine after that."""
    asked: list[str] = []
    connected: list[str] = []

    def look_up(host: str, *_: Any, **__: Any) -> list[Any]:
        asked.append(host)
        address = "93.184.216.34" if len(asked) == 1 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80))]

    def connect(address: tuple[str, int], *_: Any, **__: Any) -> socket.socket:
        connected.append(address[0])
        raise ConnectionRefusedError

    settings = Settings(webhook_secret=SecretStr("secret"))
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(socket, "create_connection", connect)
    for url in ("http://rebinding.test/s3cret", "http://private.test/s3cret"):
        with pytest.raises(ExternalCallError) as caught:
            post_event(url, settings, "watch.state", "id", {})
        assert not re.search(r"\.test|s3cret|127|93", f"{caught.value}{caught.value.remedy}")
    assert connected == ["93.184.216.34"], "the address that was checked, and no other"
    port = receiver.host.partition(":")[2]
    for url in ("http://127.0.0.1/", f"http://a.test:{port}/", "http://[::1]/", "http://localhost"):
        with pytest.raises(UsageError, match="--webhook is no address that may be called"):
            check_webhook(url, settings)


class Killed(BaseException):
    """What ends a process between a run and its report."""


def test_what_was_found_is_reported_by_the_next_process(shop: Services, settings: Settings) -> None:
    notices: list[Notice] = []
    settings = settings.model_copy(update={"slots": ("price",), "cache": False})

    def watch(**channels: Any) -> float:
        return Watch(QUESTION, settings, 3600.0, channels).check()

    def die(_: Notice) -> None:
        raise Killed

    with pytest.raises(Killed):
        watch(one=notices.append, two=die)
    asked = len(shop.model_requests)
    assert 3500 < watch(one=notices.append, two=notices.append) <= 3600  # nor asks before it is due
    assert [one.id for one in notices] == [notices[0].id] * 2 and len(shop.model_requests) == asked
    watch(one=notices.append, two=notices.append)
    assert len(notices) == 2


@pytest.mark.slow
def test_a_watch_that_is_killed_reports_each_change_once(shop: Services, tmp_path: Path) -> None:
    own = {**shop.environment(tmp_path), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    own["PYTHONPATH"] = str(Path(__file__).parents[3])
    words = ("-m", "agent.cli", "watch", QUESTION, "--slots", "price", "--once", "--out", "n.jsonl")
    notices = tmp_path / "n.jsonl"
    moments = (lambda: len(shop.page_requests) > 0, notices.exists)
    for price, is_moment in zip((120, 99), moments, strict=True):
        shop.pages["shop"] = page(price)
        notices.unlink(missing_ok=True)
        shop.page_requests.clear()
        for is_killed in (True, False):
            with start_command(*words, cwd=tmp_path, env=own, stdout=-1, stderr=-1) as process:
                while is_killed and process.poll() is None and not is_moment():
                    time.sleep(0.001)
                if is_killed and process.poll() is None:
                    process.kill()
                process.communicate(timeout=60)
        rows = [json.loads(line) for line in notices.read_text("utf-8").splitlines()]
        values = [(row["new"] or row["values"]["price"])["value"] for row in rows]
        assert values == [f"{price} euros"]
