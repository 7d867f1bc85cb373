"""`python -m benchmarks.control_room`: what the pages of many streams cost the process that has them.

A server of its own process shows so many streams, of which a share reads records all the time. It is
asked for the overview, and pages are left open; its CPU is measured from outside.
"""

from __future__ import annotations

import argparse
import http.client
import re
import statistics
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import psutil

from headrace.http.address import Address
from headrace.http.board import Board, Facts
from headrace.http.detail_rows import DeclaredRow
from headrace.http.rows import OutputRow, StreamRow
from headrace.http.server import serving
from headrace.signals import Drain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ASKS: Final = 20
LIMIT_S: Final = 30.0


class Many(Facts):
    """Streams with an output each; a share of them has read more each time that it is asked."""

    def __init__(self, streams: int, busy: int) -> None:
        self._reads = [1_000_000] * streams
        self._busy = busy

    def declared(self) -> Sequence[DeclaredRow]:
        """Return a file for each."""
        return [
            DeclaredRow(
                "stream",
                f"events_{number:04}",
                f"streams/events_{number:04}.yaml",
                [f"kafka:fronting/events.team_{number:04}"],
                [f"kafka:consumer/events.team_{number:04}.clean"],
                ["clean"],
            )
            for number in range(len(self._reads))
        ]

    def streams(self) -> Sequence[StreamRow]:
        """Return their rows."""
        for number in range(self._busy):
            self._reads[number] += 100 + number
        return [
            StreamRow(
                f"events_{number:04}",
                "running",
                None,
                [OutputRow("clean", "running", None, 0, read, read - 10, 5, 2, 3, 0)],
            )
            for number, read in enumerate(self._reads)
        ]


def main() -> None:
    """Measure, and print a line for each figure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.control_room", description=__doc__)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--busy", type=int, default=50, help="so many of them read records [50]")
    parser.add_argument("--pages", type=int, default=1, help="so many overviews are open [1]")
    parser.add_argument("--seconds", type=float, default=20.0, help="they are left open [20]")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        _serve(given.streams, given.busy)
        return
    command = [sys.executable, "-m", "benchmarks.control_room", "--serve"]
    command += ["--streams", str(given.streams), "--busy", str(given.busy)]
    with _server(command) as server:
        first = _ask(server.port)
        asked = [_ask(server.port) for _ in range(ASKS)]
        times_ms = [one.first_byte_ms for one in asked]
        print(f"{given.streams} streams, {given.busy} of them at work")
        print(f"overview: {len(first.html.encode()):,} bytes")
        print(
            f"first byte: {first.first_byte_ms:.0f} ms the first time, then median "
            f"{statistics.median(times_ms):.0f} ms, most {max(times_ms):.0f} ms"
        )
        idle_ms = server.cpu_ms(given.seconds)
        with ExitStack() as held:
            for _ in range(given.pages):
                held.enter_context(_open(server.port))
            open_ms = server.cpu_ms(given.seconds)
        print(
            f"CPU a second: {idle_ms:.1f} ms with no page open, {open_ms:.1f} ms with {given.pages} "
            "open, which is a tick of events a second"
        )


@dataclass(frozen=True, slots=True)
class LoadedPage:
    """An overview, and how long its first byte took."""

    html: str
    first_byte_ms: float


@dataclass(frozen=True, slots=True)
class Server:
    """The process that serves."""

    port: int
    process: psutil.Process

    def cpu_ms(self, seconds: float) -> float:
        """Return how much CPU it takes a second."""
        before = sum(self.process.cpu_times()[:2])
        time.sleep(seconds)
        return 1000 * (sum(self.process.cpu_times()[:2]) - before) / seconds


def _serve(streams: int, busy: int) -> None:
    board = Board("headrace up", Drain())
    board.show(Many(streams, busy))
    with serving(Address("127.0.0.1", 0), board) as taken:
        print(taken.port if taken else "", flush=True)
        sys.stdin.read()


@contextmanager
def _server(command: Sequence[str]) -> Iterator[Server]:
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        # Its log comes before, on the same stream.
        port = next(int(line) for line in process.stdout if line.strip().isdigit())
        # It serves: `headrace up` does long before 500 streams are at work.
        _ask(port, "/livez")
        yield Server(port, psutil.Process(process.pid))
        process.terminate()


def _ask(port: int, path: str = "/") -> LoadedPage:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
    began_s = time.perf_counter()
    connection.request("GET", path)
    answer = connection.getresponse()
    first = answer.read(1)
    took_ms = 1000 * (time.perf_counter() - began_s)
    html = (first + answer.read()).decode()
    connection.close()
    return LoadedPage(html, took_ms)


@contextmanager
def _open(port: int) -> Iterator[None]:
    """Have a page open, as a browser has it: its events are read as they come."""
    (place,) = re.findall(r'sse-connect="([^"]+)"', _ask(port).html)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
    connection.request("GET", place.replace("&amp;", "&"))
    answer = connection.getresponse()
    done = threading.Event()

    def read() -> None:
        while not done.is_set() and answer.readline():
            pass

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    yield
    done.set()
    reader.join(LIMIT_S)
    connection.close()


if __name__ == "__main__":
    main()
