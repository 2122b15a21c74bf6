"""`pinakes SNAPSHOTS`: serves a snapshot on this machine."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from ._errors import Error
from ._native import VERSION
from ._programs import replace_process

USAGE = """\
Serves a snapshot of scholarly metadata on http://127.0.0.1:8080, without limits of requests.

Usage: pinakes SNAPSHOTS|SNAPSHOT|URL [OPTIONS]

SNAPSHOTS is a directory that `pinakes-compiler build` or `pull` wrote, SNAPSHOT one of the snapshots in it. URL is the address of a published snapshot, of
which only what is asked for is fetched. OPTIONS are those of `pinakes-server --help`, such as `--listen HOST:PORT`.

The package also has `pinakes-compiler`, which builds snapshots, `pinakes-server`, and the Python module `pinakes`.
"""


def main() -> None:
    """Runs `pinakes-server` for one person."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, end="")
        raise SystemExit(0 if arguments else 2)
    if arguments[0] in ("-V", "--version"):
        print(f"pinakes {VERSION}")
        return
    source, *options = arguments
    if source.startswith("-"):
        raise SystemExit(f"error: `{source}` stands first; write `pinakes SNAPSHOTS {source} …`")
    try:
        replace_process("pinakes-server", ["--no-limits", *_place_of(source), *options])
    except (Error, OSError) as error:
        raise SystemExit(f"error: {error}")


def _place_of(source: str) -> list[str]:
    """The options of the server for a directory of snapshots, a snapshot or an address."""
    if "://" in source:
        return ["--from", source, "--snapshots", os.fspath(_cache_of(source))]
    return ["--snapshot" if (Path(source) / "manifest.json").exists() else "--snapshots", source]


def _cache_of(url: str) -> Path:
    """Makes the directory that keeps what is fetched from an address."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    place = Path(home) / "pinakes" / hashlib.sha256(url.encode()).hexdigest()[:16]
    place.mkdir(parents=True, exist_ok=True)
    return place


if __name__ == "__main__":
    main()
