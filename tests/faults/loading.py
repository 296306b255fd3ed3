"""Load: a watch that is fed without pause, and the server of the explorer with many clients."""

import http.client
import json
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from cli.command_line import command
from faults.worlds import TOPICS

from wordtide.api import DynamicEmbeddings
from wordtide.explorer.explore import PageOptions, page_server

_FIRST_DAY = np.datetime64("2020-01-05")


@dataclass
class WatchLoad:
    """What a watch did: rows given, slices closed, memory (bytes) after each report, and exit code."""

    rows: int = 0
    reported_rows: int = 0
    slices: int = 0
    memory: list[int] = field(default_factory=list)
    code: int | None = None
    talk: list[str] = field(default_factory=list)


def endless_rows(rows_of_a_day: int) -> Iterator[bytes]:
    """JSON Lines, one day at a time, up to today."""
    generator = np.random.default_rng(11)
    for day in range(2000):
        date = _FIRST_DAY + np.timedelta64(day, "D")
        topics = generator.integers(len(TOPICS), size=rows_of_a_day)
        words = generator.integers(len(TOPICS[0]), size=(rows_of_a_day, 8))
        yield b"".join(
            json.dumps({"date": str(date), "text": " ".join(TOPICS[topic][word] for word in row)}).encode()
            + b"\n"
            for topic, row in zip(topics, words, strict=True)
        )


def watch_under_load(
    model: Path, rows_of_a_day: int, seconds: float, most_days: int | None = None
) -> WatchLoad:
    """Feed a watch through a pipe for some time, as fast as it reads; then end the stream."""
    load = WatchLoad()
    line = command(
        "watch", model, "-", "--threads", "1", "--alerts", model.with_name("alerts.jsonl"), "--close-at-end"
    )
    until = time.monotonic() + seconds
    with subprocess.Popen(
        line, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:

        def listen() -> None:
            for said in process.stderr:
                text = said.decode()
                if found := re.match(r"[\d-]+: ([\d,]+) rows?, ", text):
                    load.slices += 1
                    load.reported_rows += int(found[1].replace(",", ""))
                    load.memory.append(_memory(process.pid))
                else:
                    load.talk.append(text)

        listener = threading.Thread(target=listen)
        listener.start()
        for day, rows in enumerate(endless_rows(rows_of_a_day)):
            if time.monotonic() > until or (most_days is not None and day >= most_days):
                break
            try:
                process.stdin.write(rows)
            except BrokenPipeError:
                break
            load.rows += rows_of_a_day
        process.stdin.close()
        load.code = process.wait()
        listener.join()
    return load


def _memory(process: int) -> int:
    """Resident memory of a process; 0 if it has just ended."""
    try:
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


@dataclass
class ServerLoad:
    """The seconds of each answer to clients, and all problems."""

    seconds: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def quantile(self, share: float) -> float:
        """The seconds within which this share of answers came."""
        return float(np.quantile(self.seconds, share))


def server_under_load(model: Path, clients: int, requests: int) -> ServerLoad:
    """Start the server of the explorer; clients request all its resources, each in another order."""
    with page_server(DynamicEmbeddings.load(model), PageOptions(map_words=10)) as listing:
        paths = ["/", *(f"/data/{name}" for name in listing.resources.names())]
    line = command("explore", model, "--no-browser", "--map-words", "10", "--threads", "1")
    load = ServerLoad()
    first: dict[str, bytes] = {}
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            host = re.fullmatch(r"http://(.*)/\n", process.stdout.readline())[1]
            threads = [
                threading.Thread(target=_ask, args=(host, paths, requests, seed, load, first))
                for seed in range(clients)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            process.kill()
    return load


def _ask(
    host: str, paths: list[str], requests: int, seed: int, load: ServerLoad, first: dict[str, bytes]
) -> None:
    generator = np.random.default_rng(seed)
    connection = http.client.HTTPConnection(host, timeout=60)
    try:
        for number in generator.integers(len(paths), size=requests):
            started = time.monotonic()
            connection.request("GET", paths[number])
            answer = connection.getresponse()
            body = answer.read()
            load.seconds.append(time.monotonic() - started)
            if answer.status != 200 or first.setdefault(paths[number], body) != body:
                load.problems.append(f"{paths[number]}: {answer.status}, {len(body)} bytes")
    except (OSError, http.client.HTTPException) as error:
        load.problems.append(repr(error))
    finally:
        connection.close()
