"""The limit of a replay: two threads decode Parquet files in any order, and write nothing."""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path

import pyarrow.parquet as pq

THREADS = 2


def decode(path: str, columns: list[str] | None) -> int:
    """Decode a file, all columns of it or some; returns its rows."""
    with pq.ParquetFile(path) as file:
        batches = file.iter_batches(columns=columns, use_threads=False)
        return sum(batch.num_rows for batch in batches)


def main() -> None:
    """Decode all files of the settings; print the rows and the time it took."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    begun = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as pool:
        columns = repeat(settings.get("columns"))
        rows = sum(pool.map(decode, settings["files"], columns))
    print(json.dumps({"rows": rows, "work_s": time.perf_counter() - begun}))


if __name__ == "__main__":
    main()
