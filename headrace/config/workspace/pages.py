"""What headrace.yaml says for the control room alone: where to look further, and what storage costs."""

from __future__ import annotations

import math
import re
from string import Formatter
from typing import Annotated, Final
from urllib.parse import quote, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from headrace.config.common.model import Model, optional
from headrace.config.common.scalars import Count, Text, refusal

_CURRENCY: Final = re.compile(r"[A-Z]{3}")


def _template(*names: str) -> AfterValidator:
    """Return a check of an address with placeholders: http or https, and no placeholder but these."""
    wanted = (
        f"an http or https address; its placeholders are {', '.join(f'{{{one}}}' for one in names)}"
    )

    def check(text: str) -> str:
        try:
            parsed = [one[1:] for one in Formatter().parse(text) if one[1] is not None]
            parts = urlsplit(text.format_map(dict.fromkeys(names, "x")))
            is_web = parts.scheme in {"http", "https"} and bool(parts.hostname)
        except (ValueError, LookupError, AttributeError):
            raise refusal(wanted) from None
        if not is_web or any(name not in names or spec or how for name, spec, how in parsed):
            raise refusal(wanted)
        if parts.username is not None:
            raise refusal(
                "an address without a user and a password: every reader of a page sees it"
            )
        return text

    return AfterValidator(check)


def _price(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise refusal("a price, such as 0.10")
    return float(value)


def _currency(text: str) -> str:
    if not _CURRENCY.fullmatch(text):
        raise refusal("a currency's three letters, such as USD")
    return text


class Links(Model):
    """Addresses of other tools, with placeholders that the control room fills in."""

    topic: Annotated[Text, _template("cluster", "topic")] | None = optional(
        "A topic in a Kafka UI. Placeholders: {cluster}, {topic}."
    )
    table: Annotated[Text, _template("catalog", "database", "table")] | None = optional(
        "A table in a catalog's UI. Placeholders: {catalog}, {database}, {table}."
    )
    dashboard: Annotated[Text, _template("kind", "name")] | None = optional(
        "A dashboard. Placeholders: {kind} (stream, lake_table, app) and {name}."
    )

    def of_topic(self, cluster: str, topic: str) -> str | None:
        """Return where a topic is to be seen."""
        return _filled(self.topic, cluster=cluster, topic=topic)

    def of_table(self, identifier: str) -> str | None:
        """Return where a table (`catalog.database.table`) is to be seen."""
        catalog, _, rest = identifier.partition(".")
        database, _, table = rest.rpartition(".")
        return _filled(self.table, catalog=catalog, database=database, table=table)

    def of_dashboard(self, kind: str, name: str) -> str | None:
        """Return the dashboard of something."""
        return _filled(self.dashboard, kind=kind, name=name)


Price = Annotated[float, BeforeValidator(_price), WithJsonSchema({"type": "number", "minimum": 0})]


class Prices(Model):
    """What a gigabyte (1,000,000,000 bytes) costs for a month of thirty days."""

    kafka_gb_month: Price = Field(description="A gigabyte on a broker's disk, for a month.")
    lake_gb_month: Price = Field(description="A gigabyte in the lake's storage, for a month.")
    currency: Annotated[Text, AfterValidator(_currency)] = Field(
        default="USD", description="The currency of the prices, three letters."
    )
    kafka_replication: Count | None = optional(
        "How many copies Kafka keeps. By default as many as the topic has."
    )


def _filled(template: str | None, **values: str) -> str | None:
    if template is None:
        return None
    return template.format_map({name: quote(value, safe="") for name, value in values.items()})
