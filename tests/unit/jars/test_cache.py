"""The cache of jars, filled from a folder that stands in for a repository."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from headrace.errors import Terminal, Transient
from headrace.jars import cache, ivy
from headrace.jars.cache import HashMismatch, cache_dir, ensure
from headrace.jars.lock import Jar, JarSet

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("one", "two")
SETTINGS = """\
<ivysettings>
  <settings defaultResolver="mirror"/>
  <resolvers>
    <filesystem name="mirror" m2compatible="true">
      <ivy pattern="{root}/[organisation]/[module]/[revision]/[module]-[revision].pom"/>
      <artifact pattern="{root}/[organisation]/[module]/[revision]/[artifact]-[revision].[ext]"/>
    </filesystem>
  </resolvers>
</ivysettings>
"""
POM = """\
<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId>
<artifactId>{name}</artifactId><version>1.0</version><packaging>jar</packaging></project>
"""


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """A Maven repository in a folder."""
    root = tmp_path / "mirror"
    for name in NAMES:
        folder = root / "org" / "example" / name / "1.0"
        folder.mkdir(parents=True)
        (folder / f"{name}-1.0.pom").write_text(POM.format(name=name))
        with zipfile.ZipFile(folder / f"{name}-1.0.jar", "w") as jar:
            jar.writestr("name.txt", name)
    return root


def jar_in(mirror: Path, name: str) -> Path:
    return mirror / "org" / "example" / name / "1.0" / f"{name}-1.0.jar"


@pytest.fixture
def jars(mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Jar, ...]:
    """What is locked: the jars of the mirror. The cache is empty."""
    found = tuple(
        Jar("spark", "org.example", name, "1.0", _hash(jar_in(mirror, name))) for name in NAMES
    )

    def locked(_jar_set: JarSet) -> tuple[Jar, ...]:
        return found

    monkeypatch.setattr(cache, "locked", locked)
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    return found


@pytest.fixture
def downloads(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Take the jars from the mirror by copying; what was asked for is noted."""
    asked: list[list[str]] = []

    def retrieve(module_xml: str, target: Path, pattern: str = ivy.PATTERN) -> None:
        assert pattern == ivy.PATTERN
        names = re.findall(r'<dependency org="org.example" name="(\w+)"', module_xml)
        for name in names:
            (target / f"{name}-1.0.jar").write_bytes(jar_in(mirror, name).read_bytes())
        asked.append(names)

    monkeypatch.setattr(ivy, "retrieve", retrieve)
    return asked


def test_the_first_use_downloads_and_the_second_does_not(
    jars: tuple[Jar, ...], downloads: list[list[str]]
) -> None:
    first = ensure("spark")
    assert [path.name for path in first] == ["one-1.0.jar", "two-1.0.jar"]
    assert [_hash(path) for path in first] == [jar.sha256 for jar in jars]
    assert ensure("spark") == first
    assert downloads == [["one", "two"]]
    assert sorted(path.name for path in cache_dir().iterdir()) == [
        ".lock",
        "one-1.0.jar",
        "two-1.0.jar",
    ]


@pytest.mark.usefixtures("jars")
def test_a_damaged_jar_is_fetched_anew(downloads: list[list[str]]) -> None:
    _, second = ensure("spark")
    second.write_bytes(second.read_bytes()[:-1])
    ensure("spark")
    assert downloads == [["one", "two"], ["two"]]


@pytest.mark.usefixtures("jars", "downloads")
def test_a_jar_with_other_bytes_is_never_used(mirror: Path) -> None:
    jar_in(mirror, "two").write_bytes(b"something else")
    said = "the repository served another org.example:two:1.0: sha256 [0-9a-f]{64}, not"
    with pytest.raises(HashMismatch, match=said):
        ensure("spark")
    assert [path.name for path in cache_dir().iterdir()] == [".lock"]


SCRIPT = """\
import sys
from pathlib import Path
from headrace.jars import cache, ivy
from headrace.jars.lock import Jar
cache.locked = lambda jar_set: (Jar("spark", "org.example", "one", "1.0", sys.argv[2]),)
def retrieve(module_xml, target, pattern=""):
    print("fetching", flush=True)
    sys.stdin.readline()
    (target / "one-1.0.jar").write_bytes(Path(sys.argv[1]).read_bytes())
ivy.retrieve = retrieve
print("started", flush=True)
cache.ensure("spark")
print("done", flush=True)
"""


def test_of_two_at_once_one_downloads(mirror: Path, jars: tuple[Jar, ...]) -> None:
    command = [sys.executable, "-c", SCRIPT, str(jar_in(mirror, "one")), jars[0].sha256]
    pipe = subprocess.PIPE
    both = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(2)]
    for process in both:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
    for process in both:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.close()
    outputs = []
    for process in both:
        assert process.stdout is not None
        said = process.stdout.read().splitlines()
        outputs.append([line for line in said if line in {"fetching", "done"}])
        process.stdout.close()
        assert process.wait(60) == 0
    assert sorted(outputs) == [["done"], ["fetching", "done"]]


def test_a_mirror_serves_by_an_ivy_settings_file(
    mirror: Path, jars: tuple[Jar, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real Ivy, offline, out of a folder."""
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(SETTINGS.format(root=mirror))
    monkeypatch.setenv("HEADRACE_IVY_SETTINGS", str(settings))
    assert [_hash(path) for path in ensure("spark")] == [jar.sha256 for jar in jars]
    jar_in(mirror, "two").unlink()
    (cache_dir() / "two-1.0.jar").unlink()
    with pytest.raises(
        Transient, match=r"cannot be reached, or does not have them|was interrupted"
    ):
        ensure("spark")


@pytest.mark.usefixtures("jars")
def test_a_settings_file_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_IVY_SETTINGS", str(tmp_path / "none.xml"))
    with pytest.raises(
        Terminal, match=r"HEADRACE_IVY_SETTINGS names .*none.xml, but there is no such file"
    ):
        ensure("spark")


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"HEADRACE_CACHE": "/a"}, "/a/jars"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/headrace/jars"),
        ({"HOME": "/h"}, "/h/.cache/headrace/jars"),
    ],
)
def test_where_the_cache_is(
    variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HEADRACE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(cache_dir()) == expected


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
