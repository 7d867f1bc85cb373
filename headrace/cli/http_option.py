"""`--http HOST:PORT`: the address at which a command reports its health and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.http.address import Address


def http_option(default: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add `--http`; the command gets an Address, or None."""

    def parsed(_ctx: click.Context, _param: click.Parameter, value: str | None) -> Address | None:
        if value is None:
            return None
        from headrace.http.address import parse_address

        return parse_address(value)

    shown = "" if default is None else f" [default: {default}]"
    return click.option(
        "--http",
        metavar="HOST:PORT",
        callback=parsed,
        help="Serve /livez, /readyz, /metrics and /api/v1 there while it runs; beyond this machine "
        f"only with HEADRACE_HTTP_TOKEN.{shown}",
    )


def read_only_option() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add `--read-only`: the control room changes nothing."""
    return click.option(
        "--read-only",
        is_flag=True,
        help="The control room changes nothing: no file, no replay.",
    )
