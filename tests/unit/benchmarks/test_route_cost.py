from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import route_cost

if TYPE_CHECKING:
    import pytest


def test_every_part_is_run_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert route_cost.main(["--records", "200", "--rounds", "1"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith("ns of CPU")
    assert [line[:44].strip() for line in lines] == [
        "consume",
        "decode",
        "check three required columns and a range",
        "filter, project and encode",
        "header of the origin",
        "produce one that is kept, origin: none",
        "produce one that is kept, its header",
        "a whole task, origin: none",
        "a whole task, origin: header",
    ]
    # Both columns are numbers; what a part costs beside another may be less than the noise.
    assert all(len([float(one) for one in line[44:].split()]) == 2 for line in lines)
