from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from headrace.errors import Terminal
from headrace.jars.java import java, java_and_banner, major_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    java_and_banner.cache_clear()
    yield
    java_and_banner.cache_clear()


@pytest.fixture
def make_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Put a `java` on the PATH that answers with the lines of a shell script."""

    def make(script: str) -> Path:
        program = tmp_path / "jdk" / "bin" / "java"
        program.parent.mkdir(parents=True)
        program.write_text(script)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
        monkeypatch.delenv("JAVA_HOME", raising=False)
        return program

    return make


@pytest.mark.parametrize(
    ("banner", "version"),
    [
        ('openjdk version "17.0.9" 2023-10-17', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ('java version "1.8.0_392"', 8),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "17.0.1"', 17),
        ("command not found", None),
        ("", None),
    ],
)
def test_the_major_version(banner: str, version: int | None) -> None:
    assert major_version(banner) == version


def test_a_java_that_is_new_enough(make_java: Callable[[str], Path]) -> None:
    program = make_java("#!/bin/sh\necho 'openjdk version \"17.0.9\"' >&2\n")
    assert java() == str(program)


def test_java_home_goes_before_the_path(
    make_java: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = make_java("#!/bin/sh\necho 'openjdk version \"21\"'\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(program.parents[1]))
    assert java() == str(program)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("#!/bin/sh\necho 'openjdk version \"11.0.2\"'\n", "needs Java 17 or newer; .* is Java 11"),
        ("#!/bin/sh\nprintf '\\377\\376'\n", "does not print which Java version it is"),
        ("#!/bin/sh\nexit 1\n", "does not print which Java version it is"),
        ("no program at all", "there is no java that can be started at"),
    ],
)
def test_a_java_that_will_not_do(make_java: Callable[[str], Path], script: str, said: str) -> None:
    make_java(script)
    with pytest.raises(Terminal, match=said) as caught:
        java()
    assert "install Java 17" in caught.value.advice


def test_no_java_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(Terminal, match="no Java was found on this machine"):
        java()


def test_a_wrong_java_home_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(Terminal, match=f"JAVA_HOME is {tmp_path}, but there is no java"):
        java()
