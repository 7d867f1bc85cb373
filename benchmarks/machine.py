"""Where and with what a measurement was made."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata

import psutil
from confluent_kafka import libversion

from benchmarks.measure import ROOT
from headrace.jars.java import java
from headrace.jars.lock import JarSet, locked


def machine() -> dict[str, str | int | float]:
    """Return the machine, and how busy it was before we started."""
    return {
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "kernel": f"{platform.system()} {platform.release()}",
        "load_average_1min": round(os.getloadavg()[0], 2),
    }


def versions() -> dict[str, str]:
    """Return the versions of all that takes part."""
    return {
        "headrace": f"{metadata.version('headrace')}, commit {commit()}",
        "python": platform.python_version(),
        "java": java_version(),
        "pyspark": metadata.version("pyspark"),
        "iceberg": jar_version("spark", "iceberg-spark-runtime"),
        "pyiceberg": metadata.version("pyiceberg"),
        "pyarrow": metadata.version("pyarrow"),
        "kafka broker": jar_version("broker", "kafka_"),
        "kafka client of Spark": jar_version("spark", "kafka-clients"),
        "librdkafka": libversion()[0],
        "orjson": installed("orjson"),
    }


def cpu_model() -> str:
    """Return the processor's name as the kernel gives it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as source:  # noqa: PTH123 - no file of ours
            names = [line.partition(":")[2].strip() for line in source if "model name" in line]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def java_version() -> str:
    """Return the first line of what Java says of itself."""
    done = subprocess.run([java(), "-version"], capture_output=True, text=True, check=False)
    lines = (done.stderr or done.stdout).splitlines()
    return lines[0] if lines else "unknown"


def jar_version(jar_set: JarSet, artifact: str) -> str:
    """Return the version of a locked jar."""
    found = [jar.version for jar in locked(jar_set) if jar.artifact.startswith(artifact)]
    return found[0] if found else "unknown"


def installed(package: str) -> str:
    """Return a package's version, or that it is not there."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def commit() -> str:
    """Return the commit of the tree that was measured, and whether it was changed since."""
    head = _git("rev-parse", "--short=12", "HEAD")
    if not head:
        return "unknown"
    return f"{head} with changes" if _git("status", "--porcelain", "-uno") else head


def _git(*words: str) -> str:
    try:
        done = subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
