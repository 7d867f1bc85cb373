"""All targets. A new one is a module beside this with `TARGETS`, and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.fuzz import (
    avro_records,
    avro_schemas,
    expressions,
    headers,
    hygiene,
    json_records,
    times,
)

if TYPE_CHECKING:
    from tests.fuzz.target import Target

TARGETS: Final[dict[str, Target]] = {
    one.name: one
    for one in (
        *json_records.TARGETS,
        *times.TARGETS,
        *hygiene.TARGETS,
        *headers.TARGETS,
        *expressions.TARGETS,
        *avro_records.TARGETS,
        *avro_schemas.TARGETS,
    )
}
