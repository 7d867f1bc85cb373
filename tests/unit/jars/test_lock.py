from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.jars.lock import ALWAYS, JAR_SETS, Jar, locked, parse
from tools.write_locks import render

_WORDS = st.text("abz019._-", min_size=1, max_size=6)
_HASHES = st.binary(min_size=32, max_size=32).map(bytes.hex)


_EXTENSIONS = st.sampled_from(["jar", "zip"])
_JARS = st.builds(
    Jar, st.sampled_from(JAR_SETS), _WORDS, _WORDS, _WORDS, _HASHES, extension=_EXTENSIONS
)


@given(st.lists(_JARS, max_size=4))
def test_the_list_is_read_as_it_was_written(jars: list[Jar]) -> None:
    assert parse(render(jars)) == sorted(jars)


def test_the_committed_list_is_whole() -> None:
    for jar_set in JAR_SETS:
        jars = locked(jar_set)
        assert len({jar.file_name for jar in jars}) == len(jars) > (5 if jar_set in ALWAYS else 0)
        assert all(len(jar.sha256) == 64 for jar in jars)


def test_no_jar_with_a_known_hole_is_in_the_list() -> None:
    everything = [jar for jar_set in JAR_SETS for jar in locked(jar_set)]
    lz4 = {(jar.group, jar.version) for jar in everything if jar.artifact == "lz4-java"}
    assert lz4 == {("at.yawk.lz4", "1.10.1")}
    clients = {jar.version for jar in locked("spark") if jar.artifact == "kafka-clients"}
    assert clients == {"3.9.2"}
