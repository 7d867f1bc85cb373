"""The id of a topic, from what the client's library says of it."""

from __future__ import annotations

import ctypes
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from confluent_kafka.admin import TopicDescription  # type: ignore[attr-defined]  # its stubs forget it

# Up to this version the library counts one reference too many to each id that it hands out, and
# never frees it: 96 bytes a question, and we ask before each batch. Later ones may be mended.
_KEEPS_IDS_UP_TO: Final = (2, 16)
_KEEPS_IDS: Final = (
    tuple(int(part) for part in version("confluent-kafka").split(".")[:2]) <= _KEEPS_IDS_UP_TO
)
_release: Final = ctypes.pythonapi.Py_DecRef
_release.argtypes = [ctypes.py_object]
_release.restype = None


def id_of(described: TopicDescription) -> str:
    """Return the id that a topic was given when it was created. Ask once for each description."""
    found = described.topic_id
    text = str(found)
    if _KEEPS_IDS:
        _release(found)
    return text
