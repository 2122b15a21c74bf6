"""Scholarly metadata from a snapshot of Pinakes, in this process: no server, no sockets.

>>> import pinakes
>>> s.outputs(filter="type:article").count() > 0
True
>>> s.get("/outputs?per_page=10").json()["meta"]["per_page"]
10

`open` opens a snapshot in a directory, or one that a host publishes. `build` makes one of a dump, `pull` fetches one,
`export` writes tables.
"""

from __future__ import annotations

from ._errors import (
    ArgumentError,
    ClosedError,
    CommandError,
    DamagedError,
    Error,
    FetchError,
    OpenError,
    ReplyError,
)
from ._native import VERSION as __version__
from ._native import Columns
from ._programs import build, export, pull
from ._snapshot import Matches, Records, RecordsOf, Reply, Snapshot, open

__all__ = [
    "ArgumentError",
    "ClosedError",
    "Columns",
    "CommandError",
    "DamagedError",
    "Error",
    "FetchError",
    "Matches",
    "OpenError",
    "Records",
    "RecordsOf",
    "Reply",
    "ReplyError",
    "Snapshot",
    "__version__",
    "build",
    "export",
    "open",
    "pull",
]
