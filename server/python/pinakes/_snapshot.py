"""Open snapshots, their replies, and the records of their lists."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, Optional, Union, overload
from urllib.parse import quote, urlencode

from . import _native
from ._errors import ArgumentError, ReplyError

StrPath = Union[str, "os.PathLike[str]"]
Texts = Union[str, Iterable[str]]

_ROUTES = {entity: route for entity, route, _ in _native.ENTITIES}


def open(
    source: StrPath,
    *,
    directory: Optional[StrPath] = None,
    pubkeys: Union[StrPath, Iterable[StrPath]] = (),
    tls_ca: Optional[StrPath] = None,
) -> Snapshot:
    """Opens a snapshot.

    `source` is a snapshot, a directory of snapshots, whose current one is meant, or the address of a tree that
    `pinakes-compiler publish` wrote: `https://…` or `s3://BUCKET/PREFIX`. Of a published snapshot only those bytes are
    fetched that answers read. `directory` keeps them for the next time; without it they are removed when nothing reads
    from them any more.
    `pubkeys` are files with public keys, of which one must have signed the publication. `tls_ca` is a PEM file with
    root certificates in place of the usual ones.

    >>> with pinakes.open(snapshots) as other:
    ...     other.id == s.id
    True
    """
    keys = [pubkeys] if isinstance(pubkeys, (str, os.PathLike)) else list(pubkeys)
    if "://" in os.fspath(source):
        return Snapshot(_native.Snapshot.open_published(os.fspath(source), directory, keys, tls_ca))
    if directory is not None or keys or tls_ca is not None:
        raise ArgumentError("`directory`, `pubkeys` and `tls_ca` are of published snapshots, with an address")
    return Snapshot(_native.Snapshot.open(source))


class Reply:
    """A reply of the interface.

    >>> reply = s.get("/outputs/HX_W2900000096")
    >>> reply.status, reply.headers["content-type"]
    (200, 'application/json')
    >>> reply.json()["id"]
    'HX_W2900000096'
    """

    status: int
    """Status, such as 200 or 404."""
    headers: dict[str, str]
    """Headers, by their names in lower case."""
    body: bytes
    """The body, coded only if `accept-encoding` asked for a coding."""

    def __init__(self, status: int, headers: Iterable[tuple[str, str]], body: bytes) -> None:
        self.status = status
        self.headers = dict(headers)
        self.body = body

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8")

    def json(self) -> Any:
        """The body, parsed as JSON."""
        return json.loads(self.body)

    def raise_for_status(self) -> Reply:
        """Returns the reply, or raises a `ReplyError` if its status is 400 or higher."""
        if self.status < 400:
            return self
        try:
            body = self.json()
        except ValueError:
            body = {"message": self.text}
        raise ReplyError(self.status, body.get("message", ""), body.get("details", []))

    def __repr__(self) -> str:
        return f"<Reply {self.status}, {len(self.body)} bytes>"


class Records:
    """The records of a list. They are found when they are asked for, each time again.

    >>> articles = s.outputs(filter="type:article", select=["id", "year"])
    >>> sorted(next(iter(articles)))
    ['id', 'year']
    """

    def __init__(self, snapshot: Snapshot, entity: str, parameters: Mapping[str, Optional[str]]) -> None:
        self._snapshot = snapshot
        self._entity = entity
        self._parameters = {name: value for name, value in parameters.items() if value is not None}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yields the records one after the other. Memory does not depend on the length of the list."""
        return self._lines(format="ndjson")

    def count(self) -> int:
        """The number of records.

        >>> s.authors().count() == s.get("/authors").json()["meta"]["count"]
        True
        """
        asked = {name: value for name, value in self._parameters.items() if name not in ("select", "sort")}
        page, _ = self._answer(self._target(asked, per_page="10"))
        count: int = page.json()["meta"]["count"]
        return count

    def group_by(self, *keys: str, of: Optional[Texts] = None) -> list[dict[str, Any]]:
        """Counts the records by the values of a key, or of several keys; `of` names keys whose values are summed up.

        >>> groups = s.outputs().group_by("type")
        >>> sum(group["count"] for group in groups) <= s.outputs().count()
        True
        """
        return list(self._lines(format="ndjson", group_by=",".join(keys), of=_joined(of)))

    def to_arrow(self, *, numbers: bool = False) -> _native.Columns:
        """The records as columns, for each library that reads Arrow's C stream interface, without copies.

        Without `select` the columns are those of `pinakes-compiler export --format parquet`. With `numbers`, the number
        of each identifier is a column too, which joins several times as fast as the text.

        >>> import pyarrow
        >>> table = pyarrow.table(s.outputs(select=["id", "year", "authors.name"]).to_arrow())
        >>> table.column_names
        ['id', 'year', 'authors']
        >>> table.num_rows == s.outputs().count()
        True

        `polars.DataFrame(…)`, `pandas.DataFrame.from_arrow(…)` and DuckDB take the columns as well. The `relevance_score` of
        a search is in the records alone. A table that is being read ends with the exception of the library that reads it.
        """
        # The interface refuses a list in the words of all other requests.
        self._lines(format="ndjson")
        query = urlencode({**self._parameters, "format": "ndjson"})
        return self._snapshot._native.columns(self._entity, query, numbers)

    def _target(self, asked: Mapping[str, str], **more: Optional[str]) -> str:
        query = {**asked, **{name: value for name, value in more.items() if value is not None}}
        with _unicode():
            return f"/{_ROUTES[self._entity]}?{urlencode(query)}"

    def _lines(self, **more: Optional[str]) -> Iterator[dict[str, Any]]:
        reply, pieces = self._answer(self._target(self._parameters, **more))
        return _parsed(pieces if pieces is not None else [reply.body])

    def _answer(self, target: str) -> tuple[Reply, Optional[_native.Pieces]]:
        """A reply without an error, and its body if it comes in pieces. A target may be longer than a server takes."""
        status, headers, body, pieces = self._snapshot._native.stream(target)
        return Reply(status, headers, body).raise_for_status(), pieces

    def __repr__(self) -> str:
        return f"<Records {self._target(self._parameters)}>"


def _parsed(pieces: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Parses the lines of a body in pieces."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield json.loads(line)
    if rest:
        yield json.loads(rest)


@contextmanager
def _unicode() -> Iterator[None]:
    """Refuses text that has no UTF-8: halves of characters."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise ArgumentError(f"a request is text of Unicode: {error}") from None


def _is_missing(value: object) -> bool:
    """Whether a table has no value there: `None`, NaN, pandas' `NA` and `NaT`."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        # `NA` is neither equal to itself nor different.
        return True
    except ValueError:
        # An array has a value for each of its elements.
        return False


def _part(value: object) -> str:
    """A part of a text. A column of whole numbers of which one is missing has fractions in pandas."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _parts(at: int, text: object) -> list[tuple[str, str]]:
    """The parts of a text by their names; none of a missing text."""
    if hasattr(text, "as_py"):
        # A value of pyarrow.
        text = text.as_py()
    if isinstance(text, str):
        return [("text", text)]
    if isinstance(text, Mapping):
        return [(name, _part(part)) for name, part in text.items() if not _is_missing(part)]
    if _is_missing(text):
        return []
    raise ArgumentError(f"`texts[{at}]` is neither a text nor a dictionary of parts: {text!r}")


def _joined(texts: Optional[Texts]) -> Optional[str]:
    return texts if texts is None or isinstance(texts, str) else ",".join(texts)


class Matches(Sequence[dict[str, Any]]):
    """The record of each text, in the order of the texts: a sequence of dictionaries, and a table of Arrow."""

    def __init__(self, native: _native.Matches) -> None:
        self._native = native

    def __len__(self) -> int:
        return len(self._native)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[dict[str, Any], list[dict[str, Any]]]:
        if isinstance(index, slice):
            return [self._native[at] for at in range(*index.indices(len(self)))]
        return self._native[index]

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._native.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> Any:
        return self._native.__arrow_c_schema__()

    def __repr__(self) -> str:
        return f"<Matches of {len(self)} texts>"


class RecordsOf:
    """The lists of one entity of a snapshot, such as `s.outputs`."""

    def __init__(self, snapshot: Snapshot, entity: str) -> None:
        self._snapshot = snapshot
        self._entity = entity

    def __call__(
        self,
        *,
        filter: Optional[Texts] = None,
        search: Optional[str] = None,
        search_exact: Optional[str] = None,
        sort: Optional[Texts] = None,
        select: Optional[Texts] = None,
        sample: Optional[int] = None,
        seed: Optional[int] = None,
    ) -> Records:
        """The records that match, as the list of the interface has them.

        The arguments are the parameters of the interface. `filter`, `sort` and `select` are texts, or several texts.

        >>> list(s.outputs(filter=["type:article", "year:>1900"], sort="year:desc,id", select="id", sample=2)) != []
        True
        """
        parameters = {
            "filter": _joined(filter),
            "search": search,
            "search.exact": search_exact,
            "sort": _joined(sort),
            "select": _joined(select),
            "sample": None if sample is None else str(sample),
            "seed": None if seed is None else str(seed),
        }
        return Records(self._snapshot, self._entity, parameters)

    def __repr__(self) -> str:
        return f"<RecordsOf {self._entity}>"


class Snapshot:
    """An open snapshot. Threads may share it; other threads run while it reads.

    `with` closes it at the end. Streams and columns that still read from it go on to their end.
    """

    # One line for each entity of `_native.ENTITIES`.
    outputs: RecordsOf
    authors: RecordsOf
    sources: RecordsOf
    institutions: RecordsOf
    publishers: RecordsOf
    funders: RecordsOf
    topics: RecordsOf
    domains: RecordsOf
    fields: RecordsOf
    subfields: RecordsOf
    institution_types: RecordsOf
    awards: RecordsOf

    def __init__(self, native: _native.Snapshot) -> None:
        self._native = native

    @property
    def id(self) -> str:
        """The id of the snapshot: 16 digits of its root hash."""
        return self._native.id

    @property
    def path(self) -> Path:
        """The directory of the snapshot."""
        return Path(self._native.path)

    @property
    def is_closed(self) -> bool:
        """Whether the snapshot was closed."""
        return self._native.is_closed

    def get(self, target: str, *, headers: Mapping[str, str] = {}) -> Reply:
        """The reply to a GET of a path with its query, as the server gives it.

        >>> s.get("/outputs?filter=type:article&per_page=10").json()["results"][0]["type"]
        'article'
        >>> s.get("/outputs/HX_W1").status
        404
        """
        return self._answer(target, headers, None)

    def post(self, target: str, body: Any, *, headers: Mapping[str, str] = {}) -> Reply:
        """The reply to a POST. A body that is neither bytes nor text is sent as JSON.

        >>> reply = s.post("/graphql", {"query": "{ outputs { meta { count } } }"})
        >>> reply.json()["data"]["outputs"]["meta"]["count"] == s.outputs().count()
        True
        """
        sent = {"content-type": "application/json", **headers}
        if not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        with _unicode():
            data = body.encode("utf-8") if isinstance(body, str) else body
        return self._answer(target, sent, data)

    def _answer(self, target: str, headers: Mapping[str, str], body: Optional[bytes]) -> Reply:
        with _unicode():
            return Reply(*self._native.answer(target, list(headers.items()), body))

    def match(self, entity: str, texts: Iterable[Union[str, Mapping[str, object], None]]) -> Matches:
        """The record that each text means: citations, affiliations, names of journals.

        A text may also be a dictionary of its parts, such as `{"title": …, "year": …}`. The result has a row for each
        text, with `id`, `name`, `score`, `match`, which says whether the decision is sure, and `error`. It is a sequence
        of dictionaries, and a table for libraries that read Arrow. Missing values of a table count as no text.

        >>> title = s.get("/outputs/HX_W2900000096").json()["name"]
        >>> found = s.match("outputs", [title, ""])
        >>> found[0]["id"], found[1]["id"]
        ('HX_W2900000096', None)
        """
        if isinstance(texts, str):
            raise ArgumentError("`texts` are several texts; give `[text]` for one")
        parts = [_parts(at, text) for at, text in enumerate(texts)]
        with _unicode():
            return Matches(self._native.matches(entity, parts))

    def cite(self, id: str, format: str = "bibtex") -> str:
        """The reference to an output: `bibtex`, `ris` or `csl-json`.

        >>> print(s.cite("HX_W2900000096", "bibtex").splitlines()[0])
        @article{watson1953molecular,
        """
        with _unicode():
            reply = self.get(f"/outputs/{quote(id, safe='/:')}?{urlencode({'format': format})}")
        if reply.status == 301:
            # The record was merged into another one.
            reply = self.get(f"{reply.headers['location']}")
        return reply.raise_for_status().text

    def close(self) -> None:
        """Closes the snapshot, once."""
        self._native.close()

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<Snapshot, closed>" if self.is_closed else f"<Snapshot {self.id} at {self.path}>"


def _records_of(entity: str) -> property:
    return property(lambda snapshot: RecordsOf(snapshot, entity), doc=f"The lists of {entity}.")


for _entity in _ROUTES:
    setattr(Snapshot, _entity.replace("-", "_"), _records_of(_entity))
