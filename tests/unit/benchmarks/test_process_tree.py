from __future__ import annotations

from benchmarks.process_tree import PAGE_BYTES, SIGCHLD_BIT, parse

STAT = (
    "4242 (tmux: (1) server) S 17 4242 4242 0 -1 4194560 100 200 0 0"
    " 11 22 33 44 20 0 5 0 987654 1000000 50 18446744073709551615"
)


def test_a_name_with_spaces_and_brackets_moves_no_field() -> None:
    seen = parse(4242, STAT, "SigIgn:\t0000000000000000\n")
    assert (seen.pid, seen.parent, seen.started_ticks) == (4242, 17, 987654)


def test_the_time_is_its_own_and_that_of_children_it_waited_for() -> None:
    assert parse(4242, STAT, "").cpu_ticks == 11 + 22 + 33 + 44


def test_whether_children_are_ignored_is_read_from_the_mask() -> None:
    assert parse(4242, STAT, f"Name:\tx\nSigIgn:\t{SIGCHLD_BIT:016x}\n").ignores_children
    assert not parse(4242, STAT, f"SigIgn:\t{SIGCHLD_BIT << 1:016x}\n").ignores_children


def test_the_memory_is_what_is_resident() -> None:
    assert parse(4242, STAT, "").rss_bytes == 50 * PAGE_BYTES
