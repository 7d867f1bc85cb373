"""What must hold between an application's lookups and its sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.config.sheet import Sheet


def check_lookups(sheet: Sheet) -> None:
    """Report lookups in catalogs that are not there, and under names that are taken."""
    sources = {name.casefold() for name in sheet.mapping("sources")}
    for name in sheet.mapping("lookups"):
        sheet.check_catalog("lookups", name, "catalog")
        # To SQL both are tables, whose names have no case.
        if name.casefold() in sources:
            message = f'a lookup of the name "{name}", and a source of that name'
            advice = "give it another: the transform knows both by their names"
            sheet.report(("lookups", name), message, advice, key=True)
