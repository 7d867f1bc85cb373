"""What all config values share: frozen, and nothing unknown in them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from headrace.config.common.scalars import KeyName, Text


class Model(BaseModel):
    """A mapping of a config file. Its fields say what a key may hold, and nothing about others.

    What must hold between keys is checked on the document (`check_*.py`), so that one mistake
    in a mapping hides none of the others.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, validate_default=False
    )


class TableName(Model):
    """An Iceberg table, by its name."""

    catalog: KeyName = Field(description="A catalog of headrace.yaml.")
    database: Text = Field(description="The namespace.")
    table: Text = Field(description="The table.")

    @property
    def identifier(self) -> str:
        """`catalog.database.table`."""
        return f"{self.catalog}.{self.database}.{self.table}"


class NewTable(TableName):
    """An Iceberg table that is written, by its name."""

    database: Text = Field(description="The namespace; it is created if it is missing.")
    table: Text = Field(description="The table; it is created if it is missing.")
