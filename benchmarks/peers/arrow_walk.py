"""The replay walked step by step as Arrow, without Spark."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from backfill.streams import Replay


def main() -> None:
    """Walk a plan to its end; print the rows and the time it took."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    begun = time.perf_counter()
    made = Replay(
        settings["tables"],
        settings["start"],
        settings["end"],
        order=settings["order"],
        max_misalignment=settings["threshold"],
        workspace=Path(settings["workspace"]),
    )
    rows = sum(
        batch.num_rows
        for step in made.steps(columns=settings["columns"])
        for _, batch in step.batches()
    )
    print(json.dumps({"rows": rows, "work_s": time.perf_counter() - begun}))


if __name__ == "__main__":
    main()
