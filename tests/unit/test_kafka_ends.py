"""A client that somebody still holds when the process ends: its threads end before."""

from __future__ import annotations

import subprocess
import sys

HELD = """
import atexit
from pathlib import Path

def say():
    names = [one.read_text() for one in Path("/proc/self/task").glob("*/comm")]
    print(sum(name.startswith("rdk:") for name in names))

# What is registered first is done last.
atexit.register(say)
from headrace.config.workspace.workspace import Cluster
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.groups import GroupOffsets

away = Cluster("away", "127.0.0.1:9", None, {})
held = KafkaCluster(away), GroupOffsets(away, "held")
say()
"""


def test_no_thread_of_a_client_outlives_the_end() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HELD], capture_output=True, text=True, check=True, timeout=60
    )
    before, after = map(int, done.stdout.split())
    assert before > 0
    assert after == 0
