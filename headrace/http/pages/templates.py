"""The templates, which escape whatever is put into them."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from headrace.http.pages import assets, formats
from headrace.problems import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2 import Environment


@cache
def environment() -> Environment:
    """Return the templates' environment."""
    # A command whose pages nobody opens need not wait for it.
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    found = Environment(
        loader=PackageLoader(__package__ or "", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        # A newer version that is installed while a command runs has other values for them.
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "number": formats.number,
        "counted": counted,
        "rate": formats.rate,
        "size": formats.size,
        "duration": formats.duration,
        "time": formats.time,
        "mark": formats.mark,
        "money": formats.money,
        "location": formats.location,
        # As text, which is then escaped: jinja2's own filter writes for scripts.
        "json": lambda value: json.dumps(value, ensure_ascii=False),
        "segment": lambda text: quote(text, safe=""),
    }
    found.globals["asset"] = assets.address
    found.globals["key_of"] = formats.key_of
    return found


@cache
def macro(template: str, name: str) -> Callable[..., str]:
    """Return a macro of a template, as a function of its arguments."""
    found = getattr(environment().get_template(template).module, name)
    # What it returns would escape whatever is done with it.
    return lambda *values: str(found(*values))


def render(template: str, **values: object) -> str:
    """Return a template with its values."""
    return environment().get_template(template).render(values)


def compile_all() -> None:
    """Compile every template, so that nobody waits for it when the first page is opened."""
    found = environment()
    for name in found.list_templates():
        found.get_template(name)
