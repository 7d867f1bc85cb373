"""What a certificate says of how the replay was asked for."""

from __future__ import annotations

import json
from dataclasses import replace

from backfill.run.certificate import Certificate, SourceCount
from backfill.run.fingerprint import AppFingerprint

PLAIN = Certificate(
    "[2026-03-01, 2026-03-02)",
    "bounded",
    3,
    1_000,
    900,
    0,
    True,
    (SourceCount("t", 7, 1, 5, 5, 5),),
)


def test_regions_and_the_file_of_the_application() -> None:
    said = replace(PLAIN, regions=("eu", "us"), app=AppFingerprint("rmi", "rmi.yaml", "12ab"))
    told = json.loads(said.to_json())
    assert told["regions"] == ["eu", "us"]
    assert (told["app"]["name"], told["app"]["file"]) == ("rmi", "rmi.yaml")
    assert "order bounded, regions eu, us" in said.to_text("there")
    assert json.loads(PLAIN.to_json())["app"] is None


def test_a_table_that_nobody_reads_is_no_difference() -> None:
    (count,) = PLAIN.sources
    missing = replace(count, rows=0)
    assert replace(PLAIN, sources=(missing,)).differences() != []
    unread = replace(missing, is_unread=True)
    assert replace(PLAIN, sources=(unread,)).differences() == []
