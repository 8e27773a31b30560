"""Two hundred concurrent clients, each with its own question, at one server process.

`python -m benchmarks.server` prints one JSON object: how many runs ended with their answer, the
latency of `/api/health` meanwhile, and the server's memory before and after each of three waves.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from statistics import median, quantiles

import httpx2

CLIENTS, WAVES = 200, 3
YEARS = (1930, 1954, 1966, 1974, 1986, 1994, 1998, 2014, 2018, 2022)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        server = _start_server(Path(folder), port)
        try:
            print(json.dumps(asyncio.run(_measure(f"http://127.0.0.1:{port}", server.pid))))
        finally:
            server.terminate()
            assert server.wait(20) == 0


def _start_server(folder: Path, port: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "agent.server", "--offline", "--port", str(port)]
    kept = {"RUNS_DIR": str(folder / "runs"), "CACHE_DIR": str(folder / "cache")}
    environment = {**os.environ, **kept, "API_MAX_QUEUE": str(CLIENTS)}
    return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)


async def _measure(base: str, pid: int) -> dict[str, object]:
    limits = httpx2.Limits(max_connections=CLIENTS + 5)
    async with httpx2.AsyncClient(
        base_url=base, timeout=300, limits=limits, trust_env=False
    ) as web:
        await _wait_until_up(web)
        await _ask(web, 0)  # what is imported at the first run is not what is measured
        memory, seconds, health, answered = [_rss(pid)], [], [], 0
        for _ in range(WAVES):
            watching = asyncio.create_task(_poll_health(web, health))
            begun = time.monotonic()
            ended = await asyncio.gather(*(_ask(web, n) for n in range(CLIENTS)))
            seconds.append(time.monotonic() - begun)
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
            answered += sum(ended)
            memory.append(_rss(pid))
    return {
        "clients_at_once": CLIENTS,
        "runs": CLIENTS * WAVES,
        "ended_with_their_answer": answered,
        "runs_a_second": round(CLIENTS / median(seconds), 1),
        "health_median_ms": round(1000 * median(health), 1),
        "health_99th_percentile_ms": round(1000 * quantiles(health, n=100)[98], 1),
        "rss_mb_before_and_after_each_wave": memory,
    }


async def _wait_until_up(web: httpx2.AsyncClient) -> None:
    while True:
        with suppress(httpx2.TransportError):
            if (await web.get("/api/health")).status_code == 200:
                return
        await asyncio.sleep(0.1)


async def _ask(web: httpx2.AsyncClient, n: int) -> bool:
    """Research a question; return whether the stream ends with the answer to it."""
    year = YEARS[n % len(YEARS)]
    body = {"question": f"Who won the {year} FIFA World Cup? (client {n})"}
    async with web.stream("POST", "/api/research/stream", json=body) as response:
        lines = [line[6:] async for line in response.aiter_lines() if line.startswith("data:")]
    frames = [json.loads(line) for line in lines]
    if [frame["type"] for frame in frames[-2:]] != ["answer", "end"]:
        return False
    return bool(frames[-2]["detail"]["topic"] == body["question"])


async def _poll_health(web: httpx2.AsyncClient, health: list[float]) -> None:
    while True:
        begun = time.monotonic()
        await web.get("/api/health")
        health.append(time.monotonic() - begun)
        await asyncio.sleep(0.05)


def _rss(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    return int(status.split("VmRSS:")[1].split()[0]) // 1024


if __name__ == "__main__":
    main()
