"""What all config values share: frozen, and nothing unknown in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from headrace.config.common.scalars import KeyName, Text

if TYPE_CHECKING:
    from pydantic import ModelWrapValidatorHandler


class Model(BaseModel):
    """A mapping of a config file. Its fields say what a key may hold, and nothing about others.

    What must hold between keys is checked on the document (`check_*.py`), so that one mistake
    in a mapping hides none of the others.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, validate_default=False
    )

    @model_validator(mode="wrap")
    @classmethod
    def _with_known_keys(cls, data: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Let the refusal of an unknown key say which keys there are."""
        try:
            return handler(data)
        except ValidationError as problem:
            errors = [cls._with_facts(error) for error in problem.errors(include_url=False)]
            raise ValidationError.from_exception_data(cls.__name__, errors) from None

    @classmethod
    def _with_facts(cls, error: ErrorDetails) -> InitErrorDetails:
        facts = error.get("ctx")
        if error["type"] == "extra_forbidden" and len(error["loc"]) == 1:
            facts = {"known": [one.alias or name for name, one in cls.model_fields.items()]}
        kind = PydanticCustomError(error["type"], "refused", facts)
        return InitErrorDetails(type=kind, loc=error["loc"], input=error["input"])


def optional(description: str) -> Any:  # noqa: ANN401 - a field takes the type that stands before it
    """Return a key that may be left out, and is None then."""
    return Field(default=None, description=description)


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
