"""The exceptions of the package. All of them are an `Error`."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """Any exception of this package."""


class ReplyError(Error):
    """The interface refuses a request, and says why.

    >>> import pinakes
    >>> try:
    ...     s.outputs(filter="yaer:2020").count()
    ... except pinakes.ReplyError as error:
    ...     print(error.status, error.details[0]["parameter"], error.details[0]["value"])
    400 filter yaer
    """

    status: int
    """Status of the reply, such as 400 or 404."""
    message: str
    """What happened."""
    details: list[dict[str, Any]]
    """The wrong parameters, each with `parameter`, `value` and `reason`."""

    def __init__(self, status: int, message: str, details: list[dict[str, Any]]) -> None:
        lines = [message] + [f"  {at['parameter']} `{at['value']}` {at['reason']}" for at in details]
        super().__init__("\n".join(lines))
        self.status = status
        self.message = message
        self.details = details

    def __reduce__(self) -> tuple[type[ReplyError], tuple[int, str, list[dict[str, Any]]]]:
        return type(self), (self.status, self.message, self.details)


class OpenError(Error):
    """There is no snapshot, or it cannot be opened."""


class ClosedError(Error):
    """The snapshot was closed."""


class DamagedError(Error):
    """Bytes of the snapshot do not have their hash, or cannot be read."""


class FetchError(Error):
    """A host does not send what a read needs, or what it sends is not trusted."""


class ArgumentError(Error, ValueError):
    """An argument has no meaning."""


class CommandError(Error):
    """A run of `pinakes-compiler` failed.

    The exit codes are those of `pinakes-compiler --help`: 2 usage, 3 input, 5 damage, 7 locked, and others.
    """

    code: int
    """Exit code of the program."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type[CommandError], tuple[int, str]]:
        return type(self), (self.code, str(self))
