"""An independent client of the API: Schemathesis, made of the OpenAPI document, sends what it allows and what it does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

BIN: Final = Path(sys.executable).parent
LIMIT_S: Final = 300.0
# It has no end.
ENDLESS: Final = "/api/v1/events"
# A stream of that name is there. Others are made up as well.
NAMED: Final = '[parameters]\n"path.name" = "{name}"\n'
# 503: Kafka is away, and the answer says so.
CONFIG: Final = """\
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 503]
"""


def try_api(
    folder: Path, url: str, *, name: str | None = None, more: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Let the client try all routes; its output names each answer that does not conform."""
    config = folder / "schemathesis.toml"
    named = "" if name is None else NAMED.format(name=name)
    config.write_text(CONFIG + named, encoding="utf-8")
    return subprocess.run(
        [
            str(BIN / "schemathesis"),
            f"--config-file={config}",
            "run",
            f"{url}/api/v1/openapi.json",
            "--exclude-path",
            ENDLESS,
            "--no-color",
            "--generation-database=none",
            *more,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
