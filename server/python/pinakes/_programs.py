"""The programs of the wheel: building, pulling and exporting snapshots by `pinakes-compiler`.

A run is a process of its own: it may use all memory that it is given, and an interrupt ends it as it ends the program.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, Callable, Iterable, Optional, Union

from ._errors import ArgumentError, CommandError, OpenError
from ._snapshot import Texts, _joined

StrPath = Union[str, "os.PathLike[str]"]

Progress = Callable[[str, int, int, str], object]
"""Is called with the stage, what is done, what there is, and the unit of both."""

_log = logging.getLogger("pinakes")


def program(name: str) -> str:
    """The path of a program of the wheel."""
    files = metadata.files("pinakes") or []
    places: list[Path] = []
    for file in files:
        if file.name == name and "bin" in file.parts:
            places.append(Path(str(file.locate())))
    # `pip install --target DIR` moves the programs into `DIR/bin`, and does not say so.
    places.append(Path(__file__).parents[1] / "bin" / name)
    for place in places:
        if place.exists():
            return os.fspath(place)
    raise OpenError(f"the installed package has no `{name}`; install its wheel again")


def build(
    inputs: Union[StrPath, Iterable[StrPath]],
    *,
    out: StrPath,
    progress: Optional[Progress] = None,
    **options: Any,
) -> Path:
    """Builds a snapshot of dumps, and makes it the current one of the directory `out`. Returns the path of the snapshot.

    `options` are those of `pinakes-compiler build`: `memory="2G"`, `where=["outputs:year:>2020"]`, `allow_shrink=True`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as out:
    ...     snapshot = pinakes.build([sample], out=out, quiet=True)
    ...     snapshot.name == pinakes.open(out).id
    True
    """
    paths = [inputs] if isinstance(inputs, (str, os.PathLike)) else inputs
    return _run("build", [os.fspath(path) for path in paths], progress, {"out": out, **options})


def pull(url: str, *, out: StrPath, progress: Optional[Progress] = None, **options: Any) -> Path:
    """Fetches the new parts of a published snapshot, verifies every byte, and makes it the current one of `out`.

    `options` are those of `pinakes-compiler pull`: `pubkey=["publisher.pub"]`, `keep=2`. Returns the path of the snapshot.
    """
    return _run("pull", [url], progress, {"out": out, **options})


def export(
    snapshot: StrPath,
    entities: Union[str, Iterable[str]] = (),
    *,
    out: StrPath,
    select: Optional[Texts] = None,
    progress: Optional[Progress] = None,
    **options: Any,
) -> Path:
    """Writes the records of a snapshot as JSON lines, CSV or Parquet. Returns the path that was written.

    `select` names columns, as in lists. `options` are those of `pinakes-compiler export`: `format="parquet"`, `where="year:>2020"`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as out:
    ...     table = pinakes.export(snapshots, "authors", out=out + "/authors.csv", format="csv", select="id,name")
    ...     table.read_text().splitlines()[0]
    'id,name'
    """
    if os.fspath(out) == "-":
        raise ArgumentError("`out` must be the path of a file or of a directory")
    names = [entities] if isinstance(entities, str) else list(entities)
    return _run("export", [os.fspath(snapshot), *names], progress, {"out": out, "select": _joined(select), **options})


def _arguments(options: dict[str, Any]) -> list[str]:
    """The options as the program reads them: `True` is a flag, several values repeat the option."""
    arguments: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            arguments.append(flag)
        elif value is not False and value is not None:
            is_one = isinstance(value, (str, os.PathLike)) or not isinstance(value, Iterable)
            for one in [value] if is_one else value:
                arguments.append(f"{flag}={os.fspath(one) if isinstance(one, os.PathLike) else one}")
    return arguments


def _run(command: str, given: list[str], progress: Optional[Progress], options: dict[str, Any]) -> Path:
    arguments = [program("pinakes-compiler"), command, *_arguments(options), "--progress=json", "--", *given]
    pipe = subprocess.PIPE
    messages: list[str] = []
    # A kernel that is killed leaves no run behind.
    env = {**os.environ, "PINAKES_PARENT": str(os.getpid())}
    with subprocess.Popen(
        arguments, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, encoding="utf-8", errors="replace", env=env
    ) as run:
        assert run.stdout is not None and run.stderr is not None
        try:
            for line in run.stderr:
                _tell(line.rstrip("\n"), progress, messages)
            printed = run.stdout.read().splitlines()
            code = run.wait()
        except BaseException:
            # The program removes what is unfinished, and ends. A terminal has told it already, a notebook has not.
            run.send_signal(signal.SIGINT)
            run.communicate()
            raise
    if code != 0:
        text = "\n".join(messages) or f"`pinakes-compiler {command}` ended with {code}"
        raise CommandError(code, text[len("error: ") :] if text.startswith("error: ") else text)
    return Path(printed[-1])


def _tell(line: str, progress: Optional[Progress], messages: list[str]) -> None:
    """Passes a line of standard error on: to the caller, or into the log."""
    if line.startswith("{"):
        if progress is not None:
            at = json.loads(line)
            progress(at["stage"], at["done"], at["total"], at["unit"])
    elif line.startswith("error: ") or messages:
        # An error may have several lines; it is the last message.
        messages.append(line)
    elif line.startswith("warning: "):
        _log.warning(line[len("warning: ") :])
    else:
        _log.info(line)


def replace_process(name: str, arguments: list[str]) -> None:
    """Runs a program in place of this process."""
    path = program(name)
    sys.stdout.flush()
    os.execv(path, [name, *arguments])
