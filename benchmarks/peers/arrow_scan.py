"""The limit of a replay: two threads decode Parquet files in any order, and write nothing."""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq

THREADS = 2


def decode(path: str) -> int:
    """Decode all columns of a file; returns its rows."""
    with pq.ParquetFile(path) as file:
        return sum(batch.num_rows for batch in file.iter_batches(use_threads=False))


def main() -> None:
    """Decode all files of the settings; print the rows and the time it took."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    begun = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as pool:
        rows = sum(pool.map(decode, settings["files"]))
    print(json.dumps({"rows": rows, "work_s": time.perf_counter() - begun}))


if __name__ == "__main__":
    main()
