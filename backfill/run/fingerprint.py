"""What application a run is of: its file, and by hashes all that makes its result what it is.

A run keeps this from its beginning. It is gone on with by the same application alone, and its
certificate names that one, whatever the file has become since.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.application.functions import modules_of
from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from pydantic import BaseModel

    from headrace.config.load import LoadedApp


@dataclass(frozen=True, slots=True)
class AppFingerprint:
    """The application that was replayed, and the file that it was read from, to the byte.

    `parts` has a hash of each part of its settings that a replay goes by, as they are with all
    variables put in; `modules` one of each Python file that its functions are from.
    """

    name: str
    file: str
    sha256: str
    parts: dict[str, str] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, app: LoadedApp, root: Path) -> AppFingerprint:
        """Return what is run; of its modules those that this process has imported."""
        # The processes that plan a replay's batches read what was kept, and do without pydantic.
        from headrace.application.select import of_the_past  # noqa: PLC0415 - as said

        config, transform = app.config, app.config.transform
        parts = {
            "sources": _as_json(of_the_past(config)),
            "watermarks": _as_json(config.watermarks),
            "lookups": _as_json(config.lookups),
            "transform": f"{transform.python} {transform.udfs} {app.query}",
            "sink": config.sink.model_dump_json(),
        }
        targets = transform.udfs if transform.python is None else (transform.python,)
        places = (app.path.parent, root)
        return cls(
            config.name,
            app.path.name,
            _hash(app.path.read_bytes()),
            {name: _hash(text.encode()) for name, text in parts.items()},
            {name: _hash(file.read_bytes()) for name, file in modules_of(targets, places).items()},
        )

    def changes(self, now: AppFingerprint) -> list[str]:
        """Name what is another now: parts of the file, and modules that both know."""
        parts = [name for name, sha256 in self.parts.items() if now.parts.get(name) != sha256]
        common = self.modules.keys() & now.modules.keys()
        modules = [f"{name}.py" for name in common if now.modules[name] != self.modules[name]]
        return [*parts, *sorted(modules)]


def refuse_changed(run_id: str, begun: AppFingerprint | None, now: AppFingerprint) -> None:
    """Refuse to go on with a run by another application than it was begun with."""
    changes: Iterable[str] = () if begun is None else begun.changes(now)
    if found := ", ".join(changes):
        raise UsageError(
            f"{now.name} has changed since run {run_id} was started: {found}",
            "the result would come from two versions of the application. Restore the old version, "
            "or start another run",
        )


def _as_json(models: Mapping[str, BaseModel]) -> str:
    return json.dumps({name: one.model_dump_json() for name, one in models.items()}, sort_keys=True)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
