"""Bad records as they go to a quarantine: byte for byte, the reason in Kafka Connect's headers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from headrace import contract
from headrace.formats.decode import ERROR, RAW
from headrace.formats.encode import with_headers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Connect's name for the step in which a value is read.
STAGE: Final = "VALUE_CONVERTER"
EXCEPTION_CLASS: Final = "headrace.BadRecord"


def quarantine_records(decoded: DataFrame, connector: str) -> DataFrame:
    """Return the bad records as they came, byte for byte, with the reason in their headers."""
    reason = [
        (contract.QUARANTINE_TOPIC, F.col(f"{RAW}.topic")),
        (contract.QUARANTINE_PARTITION, F.col(f"{RAW}.partition").cast("string")),
        (contract.QUARANTINE_OFFSET, F.col(f"{RAW}.offset").cast("string")),
        (contract.QUARANTINE_CONNECTOR, F.lit(connector)),
        (contract.QUARANTINE_STAGE, F.lit(STAGE)),
        (contract.QUARANTINE_EXCEPTION_CLASS, F.lit(EXCEPTION_CLASS)),
        (contract.QUARANTINE_EXCEPTION_MESSAGE, F.col(ERROR)),
    ]
    return decoded.filter(F.col(ERROR).isNotNull()).select(
        F.col(f"{RAW}.key").alias("key"),
        F.col(f"{RAW}.value").alias("value"),
        with_headers(reason).alias("headers"),
    )
