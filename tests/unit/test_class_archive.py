from __future__ import annotations

import hashlib
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from headrace.jars.cache import cache_root
from headrace.jvm import class_archive
from headrace.jvm.class_archive import MOST_KEPT, options

if TYPE_CHECKING:
    from pathlib import Path

BANNER = 'openjdk version "17.0.15"\nOpenJDK 64-Bit Server VM (build 17.0.15, mixed mode, sharing)'


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache, and no folder on the classpath."""
    for name in (*class_archive.FOLDERS, class_archive.LAUNCHER):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(class_archive, "LEAST_FREE", 0)
    return tmp_path / "cache" / "classes"


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "one.jar"
    path.write_bytes(b"classes")
    return path


def recorded(jar: Path, banner: str = BANNER, said: str = "") -> str:
    """Return what the JVM is told to keep its classes as, or nothing; as if never tried before."""
    for tried in cache_root().glob("classes/*.tried"):
        tried.unlink()
    said = options(banner, [jar], said, keeps=True)
    return said.partition(f"-D{class_archive.KEPT_AS}=")[2].rstrip('"').rpartition("/")[2]


def keep(cache: Path, jar: Path, content: bytes) -> Path:
    """Lay an archive there, as a command does when it has ended."""
    cache.mkdir(parents=True, exist_ok=True)
    path = cache / f"{recorded(jar)}-{hashlib.sha256(content).hexdigest()[:16]}.jsa"
    path.write_bytes(content)
    return path


def test_the_first_command_keeps_them_and_the_next_reads_them(cache: Path, jar: Path) -> None:
    assert "-XX:+RecordDynamicDumpInfo" in options(BANNER, [jar], "", keeps=True)
    assert options(BANNER, [jar], "", keeps=False) == ""
    kept = keep(cache, jar, b"archive")
    for keeps in (True, False):
        assert f'"-XX:SharedArchiveFile={kept}"' in options(BANNER, [jar], "", keeps=keeps)


def test_another_java_and_another_jar_have_one_of_their_own(jar: Path) -> None:
    first = recorded(jar)
    assert recorded(jar, BANNER.replace("17", "21")) not in ("", first)
    jar.write_bytes(b"other classes")
    assert recorded(jar) not in ("", first)


@pytest.mark.parametrize("damage", [b"arch", b"archivf", b""])
def test_a_damaged_one_is_removed_and_made_anew(cache: Path, jar: Path, damage: bytes) -> None:
    kept = keep(cache, jar, b"archive")
    kept.write_bytes(damage)
    assert recorded(jar)
    assert not kept.exists()


def test_a_sound_one_beside_a_damaged_one(cache: Path, jar: Path) -> None:
    kept = keep(cache, jar, b"archive")
    damaged = kept.with_name(kept.name.replace("-", "-0"))
    damaged.touch()
    os.utime(damaged, (1, 1))
    assert f'"-XX:SharedArchiveFile={kept}"' in options(BANNER, [jar], "", keeps=True)
    assert not damaged.exists()


def test_what_came_to_nothing_is_tried_again_the_next_day(cache: Path, jar: Path) -> None:
    assert "-XX:+RecordDynamicDumpInfo" in options(BANNER, [jar], "", keeps=True)
    assert options(BANNER, [jar], "", keeps=True) == ""
    (tried,) = cache.glob("*.tried")
    os.utime(tried, (1, 1))
    assert "-XX:+RecordDynamicDumpInfo" in options(BANNER, [jar], "", keeps=True)


@pytest.mark.parametrize(
    ("banner", "said"),
    [
        (BANNER.replace(", sharing", ""), ""),
        (BANNER.replace("17", "25"), ""),
        ("NOTE: Picked up JDK_JAVA_OPTIONS: -javaagent:a.jar\n" + BANNER, ""),
        (BANNER, "-agentlib:jdwp=transport=dt_socket"),
    ],
)
def test_a_jvm_that_may_not_start_with_it_is_not_told_to_keep_any(
    banner: str, said: str, jar: Path
) -> None:
    assert recorded(jar)
    assert not recorded(jar, banner, said)


def test_options_for_the_launcher_alone(jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-XX:ArchiveClassesAtExit=mine.jsa")
    assert not recorded(jar)


def test_what_is_kept_is_read_beside_options_of_users(cache: Path, jar: Path) -> None:
    kept = keep(cache, jar, b"archive")
    assert str(kept) in options(BANNER, [jar], "-javaagent:a.jar", keeps=True)


@pytest.mark.parametrize("name", ["with a space", "a=b", 'quoted"'])
def test_a_path_that_the_jvm_would_take_apart(
    name: str, jar: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / name))
    assert not recorded(jar)


@pytest.mark.parametrize("said", ["-Xshare:off", "-XX:SharedArchiveFile=/mine.jsa"])
def test_what_users_say_of_archives_holds(jar: Path, said: str) -> None:
    assert options(BANNER, [jar], f"-ea {said}", keeps=True) == ""
    assert options(f"Picked up JAVA_TOOL_OPTIONS: {said}\n{BANNER}", [jar], "", keeps=True) == ""


def test_folders_on_the_classpath(
    jar: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert options(BANNER, [jar, tmp_path], "", keeps=True) == ""
    folder = tmp_path / "conf"
    folder.mkdir()
    monkeypatch.setenv("SPARK_CONF_DIR", str(folder))
    assert recorded(jar)
    (folder / "spark-env.sh").touch()
    assert not recorded(jar)


def test_a_cache_that_cannot_be_and_a_disk_that_is_full(
    cache: Path, jar: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        full.setattr(class_archive, "LEAST_FREE", 2**62)
        assert not recorded(jar)
    shutil.rmtree(cache.parent)
    cache.parent.write_text("a file where the folder should be")
    assert options(BANNER, [jar], "", keeps=True) == ""


def test_those_used_last_are_kept(cache: Path, jar: Path) -> None:
    kept = []
    for number in range(MOST_KEPT + 2):
        jar.write_bytes(b"classes" * (number + 1))
        kept.append(keep(cache, jar, b"archive"))
        os.utime(kept[-1], (number, number))
    stale, at_work = cache / ".part-1", cache / ".part-2"
    for part in (stale, at_work):
        part.mkdir()
        (part / "archive").touch()
    os.utime(stale, (1, 1))
    class_archive.remove_unused(cache)
    assert [path for path in kept if path.exists()] == kept[2:]
    assert (stale.exists(), at_work.exists()) == (False, True)
