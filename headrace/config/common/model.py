"""What all config values share: frozen, and nothing unknown in them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """A mapping of a config file. Its fields say what a key may hold, and nothing about others.

    What must hold between keys is checked on the document (`checks_*.py`), so that one mistake
    in a mapping hides none of the others.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, validate_default=False
    )
