"""Small files that tasks elsewhere have the driver write."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import Transient
from headrace.jvm.relay import Relay, RelayAddress, put

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def address(tmp_path: Path) -> Iterator[RelayAddress]:
    conf: dict[str, str] = {"spark.driver.host": "127.0.0.1"}
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(getConf=lambda: conf))
    with Relay(spark, tmp_path / "state") as found:
        yield found


def test_a_file_is_there_when_put_returns(address: RelayAddress, tmp_path: Path) -> None:
    file = tmp_path / "state" / "folder" / "one.json"
    for content in (b"one", b"other"):
        put(file, content, address)
        assert file.read_bytes() == content
    put(tmp_path / "here.json", b"here", None)
    assert (tmp_path / "here.json").read_bytes() == b"here"


@pytest.mark.parametrize("name", ["outside.json", "state/../outside.json"])
def test_nothing_is_written_elsewhere(address: RelayAddress, tmp_path: Path, name: str) -> None:
    with pytest.raises(Transient, match="is not in"):
        put(tmp_path / name, b"x", address)
    assert not (tmp_path / "outside.json").exists()


def test_who_has_no_token_writes_nothing(address: RelayAddress, tmp_path: Path) -> None:
    file = tmp_path / "state" / "one.json"
    with pytest.raises(Transient, match="the driver does not take"):
        put(file, b"x", replace(address, token="other"))  # noqa: S106 - it is wrong
    assert not file.exists()
    put(file, b"x", address)
    assert file.exists()


def test_an_address_travels_as_text_and_shows_no_token(address: RelayAddress) -> None:
    assert RelayAddress.of_json(address.to_json()) == address
    assert RelayAddress.of_json(None) is None
    assert address.token not in repr(address)
