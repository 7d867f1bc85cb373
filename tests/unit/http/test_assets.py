"""What pages load is what the lock says, and nothing else is served."""

from __future__ import annotations

import hashlib
from pathlib import Path

from headrace.http.pages.assets import TYPES, address, content

STATIC = Path(__file__).parents[3] / "headrace/http/pages/static"


def test_the_files_of_others_are_those_of_the_lock() -> None:
    lines = (STATIC / "vendor/vendor.lock").read_text().splitlines()
    locked = {one.split()[0]: one.split()[-1] for one in lines if not one.startswith("#")}
    there = {one.name: one for one in (STATIC / "vendor").glob("*.js")}
    assert locked == {
        name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in there.items()
    }
    licences = (STATIC / "vendor/LICENSES.txt").read_text()
    assert [name for name in locked if name not in licences] == []


def test_every_file_that_is_served_is_there_under_an_address_of_its_content() -> None:
    named = {str(one.relative_to(STATIC)) for one in STATIC.rglob("*") if one.is_file()}
    assert {*TYPES} == named - {"vendor/vendor.lock", "vendor/LICENSES.txt"}
    for name in TYPES:
        assert address(name).endswith(hashlib.sha256(content(name)).hexdigest()[:12])
