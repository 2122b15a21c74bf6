"""Tests of the installed package, over a snapshot of the sample: python -m unittest discover server/python/tests

The examples in the docstrings run too.
"""

from __future__ import annotations

import atexit
import doctest
import http.client
import http.server
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import unittest
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterator
from urllib.parse import quote

import pinakes
from pinakes import _errors, _native, _programs, _snapshot

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = ROOT / "data" / "sample"
FOLDER = tempfile.TemporaryDirectory()
SNAPSHOTS = Path(FOLDER.name) / "snapshots"
RECORD = "HX_W2900000096"


def remove_snapshots() -> None:
    # Snapshots are read-only.
    subprocess.run(["chmod", "-R", "u+w", FOLDER.name], check=True)
    FOLDER.cleanup()


@contextmanager
def serving(command: list[Any], **environment: str) -> Iterator[str]:
    """Runs a command that serves, and gives its address."""
    with subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **environment},
    ) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split("://")[1].strip()
        finally:
            server.terminate()


class Opened(unittest.TestCase):
    """A case with an open snapshot."""

    def setUp(self) -> None:
        self.s = pinakes.open(SNAPSHOTS)
        self.addCleanup(self.s.close)


class Replies(Opened):
    def test_a_reply_is_that_of_the_server(self) -> None:
        server = serving([_programs.program("pinakes-server"), "--snapshots", SNAPSHOTS, "--no-limits"])
        address = server.__enter__()
        self.addCleanup(server.__exit__, None, None, None)
        for target in [
            "/outputs?search=deep+learning&select=id,title",
            "/outputs?filter=type:article&sort=cited_by_count:desc&per_page=100",
            "/outputs?group_by=type",
            "/outputs?format=csv&select=id,authors.name",
            f"/outputs/{RECORD}",
            "/outputs/HX_W1",
            "/outputs?perpage=1",
            "/match/institutions?text=University",
            "/openalex/nothing",
        ]:
            connection = http.client.HTTPConnection(address)
            connection.request("GET", target)
            expected = connection.getresponse()
            found = self.s.get(target)
            self.assertEqual((found.status, found.body), (expected.status, expected.read()), target)
            for name in ("content-type", "etag", "cache-control"):
                self.assertEqual(found.headers.get(name), expected.headers.get(name), f"{target}: {name}")
            connection.close()

    def test_a_reply_is_coded_only_when_asked_for(self) -> None:
        target = "/outputs?per_page=100"
        self.assertNotIn("content-encoding", self.s.get(target).headers)
        coded = self.s.get(target, headers={"accept-encoding": "gzip"})
        self.assertEqual(coded.headers["content-encoding"], "gzip")
        self.assertLess(len(coded.body), len(self.s.get(target).body))

    def test_a_refusal_names_the_parameter(self) -> None:
        lists = [
            lambda: self.s.get("/outputs?perpage=50").raise_for_status(),
            lambda: self.s.outputs(filter="yaer:2020").count(),
            lambda: list(self.s.outputs(select="nmae")),
            lambda: self.s.outputs(select="nmae").to_arrow(),
            lambda: self.s.outputs().group_by("tpye"),
        ]
        for refused, parameter in zip(lists, ["perpage", "filter", "select", "select", "group_by"]):
            with self.assertRaises(pinakes.ReplyError) as caught:
                refused()
            self.assertEqual(caught.exception.status, 400)
            self.assertEqual(caught.exception.details[0]["parameter"], parameter)
            self.assertIn("did you mean", str(caught.exception))

    def test_graphql_and_tools_answer_posts(self) -> None:
        reply = self.s.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        self.assertIn("tools", reply.json()["result"])
        self.assertEqual(self.s.post("/outputs", b"").status, 405)
        with self.assertRaises(pinakes.ArgumentError):
            self.s.get("/outputs", headers={"a b": "c"})
        with self.assertRaises(pinakes.ArgumentError):
            self.s.get("/outputs?search=\ud800")


class Lists(Opened):
    def test_every_entity_has_its_list(self) -> None:
        names = [entity.replace("-", "_") for entity, _, _ in _native.ENTITIES]
        self.assertEqual(list(_snapshot.Snapshot.__annotations__), names)
        for name, (entity, route, _) in zip(names, _native.ENTITIES):
            records = getattr(self.s, name)()
            count = self.s.get(f"/{route}").json()["meta"]["count"]
            self.assertEqual(records.count(), count, entity)
            self.assertEqual(sum(1 for _ in records), count, entity)
            self.assertEqual(self.s._native.records(entity), count, entity)

    def test_records_are_those_of_the_pages(self) -> None:
        pages = []
        for page in range(1, 4):
            target = f"/outputs?filter=type:article&sort=year:desc,id&select=id,name&per_page=100&page={page}"
            pages += self.s.get(target).json()["results"]
        found = list(self.s.outputs(filter=["type:article"], sort=["year:desc", "id"], select=["id", "name"]))
        self.assertGreater(len(found), 100)
        self.assertEqual(found[: len(pages)], pages)

    def test_groups_are_all_groups(self) -> None:
        groups = self.s.outputs(search="deep learning").group_by("year", of="cited_by_count")
        count = self.s.outputs(search="deep learning").count()
        self.assertEqual(sum(group["count"] for group in groups), count)
        self.assertIn("sum", groups[0]["of"]["cited_by_count"])

    def test_a_reference_is_that_of_the_interface(self) -> None:
        for form in ("bibtex", "ris", "csl-json"):
            self.assertEqual(self.s.cite(RECORD, form), self.s.get(f"/outputs/{RECORD}?format={form}").text)
        with self.assertRaises(pinakes.ReplyError):
            self.s.cite("HX_W1")
        # A merged record.
        target = self.s.get("/outputs/HX_W2900009001").headers["location"].split("?")[0].split("/")[-1]
        self.assertEqual(self.s.cite("HX_W2900009001"), self.s.cite(target))

    def test_a_list_may_have_more_parameters_than_an_address_has_room(self) -> None:
        words = " OR ".join([f"эпистемология{at}" for at in range(300)] + ["theory"])
        self.assertGreater(len(quote(words)), 16_384)
        self.assertEqual(self.s.get(f"/outputs?search={quote(words)}").status, 414)
        found = self.s.outputs(search=words, select="id")
        expected = {output["id"] for output in self.s.outputs(search="theory", select="id")}
        self.assertEqual({output["id"] for output in found}, expected)
        self.assertEqual(found.count(), len(expected))
        self.assertRaises(pinakes.ArgumentError, self.s.outputs(search="\ud800").count)


class Tables(Opened):
    def test_columns_are_those_of_the_parquet_export(self) -> None:
        import pyarrow
        import pyarrow.parquet

        for entity, _, _ in _native.ENTITIES:
            path = Path(FOLDER.name) / f"{entity}.parquet"
            pinakes.export(SNAPSHOTS, entity, out=path, format="parquet", integer_ids=True, quiet=True)
            expected = pyarrow.parquet.read_table(path).replace_schema_metadata(None)
            records = getattr(self.s, entity.replace("-", "_"))()
            found = pyarrow.table(records.to_arrow(numbers=True))
            self.assertEqual(found.schema, expected.schema, entity)
            self.assertTrue(found.equals(expected), entity)

    def test_selected_columns_have_the_rows_of_the_list(self) -> None:
        import pyarrow

        given: dict[str, Any] = {"filter": "type:article", "sort": "year:desc,id", "select": "id,year,references"}
        table = pyarrow.table(self.s.outputs(**given).to_arrow())
        self.assertEqual(table.column_names, ["id", "year", "references"])
        self.assertEqual(table.to_pylist(), list(self.s.outputs(**given)))
        empty = pyarrow.table(self.s.outputs(filter="year:1066", select="id").to_arrow())
        self.assertEqual((empty.num_rows, empty.column_names), (0, ["id"]))

    def test_polars_pandas_and_duckdb_take_columns(self) -> None:
        import duckdb
        import pandas
        import polars

        columns = self.s.outputs(select="id,year").to_arrow()
        count = self.s.outputs().count()
        self.assertEqual(polars.DataFrame(columns).height, count)
        self.assertEqual(len(pandas.DataFrame.from_arrow(columns)), count)
        found = duckdb.sql("select count(*), count(distinct id) from columns").fetchall()
        self.assertEqual(found, [(count, count)])

    def test_matches_are_those_of_the_interface(self) -> None:
        import pyarrow

        outputs = [output for output in self.s.outputs(select="id,name,year") if output["name"] and output["year"]]
        texts = [{"title": output["name"], "year": output["year"]} for output in outputs]
        found = self.s.match("outputs", texts)
        self.assertEqual(len(found), len(texts))
        right = sum(row["id"] == output["id"] for row, output in zip(found, outputs))
        self.assertGreater(right, len(texts) * 0.9)
        best = self.s.get(f"/match/outputs?text={'+'.join(outputs[0]['name'].split())}").json()["results"][0]
        one = self.s.match("outputs", [outputs[0]["name"]])[-1]
        self.assertEqual([one[name] for name in ("id", "name", "score", "match")],
                         [best[name] for name in ("id", "name", "score", "match")])
        table = pyarrow.table(found)
        self.assertEqual(table.to_pylist(), list(found))
        bad = self.s.match("institutions", [{"nmae": "x"}, {"text": " "}])
        self.assertIn("is no part of a text", bad[0]["error"])
        self.assertIsNotNone(bad[1]["error"])
        with self.assertRaises(IndexError):
            bad[2]
        with self.assertRaises(pinakes.ArgumentError):
            self.s.match("institution-types", ["x"])
        with self.assertRaises(pinakes.ArgumentError):
            self.s.match("works", ["x"])
        with self.assertRaises(pinakes.ArgumentError):
            self.s.match("outputs", "x")
        self.assertEqual((found[-2:], list(reversed(found))[0]), (list(found)[-2:], found[-1]))

    def test_missing_values_of_a_table_are_no_texts(self) -> None:
        import pandas

        title = self.s.get(f"/outputs/{RECORD}").json()["name"]
        nan = float("nan")
        [expected] = self.s.match("outputs", [{"title": title, "year": 1953}])
        for missing in (None, nan, pandas.NA, pandas.NaT):
            row = {"title": title, "year": 1953.0, "author": missing, "venue": missing}
            self.assertEqual(self.s.match("outputs", [row])[0], expected, repr(missing))
            for nothing in (missing, {"title": missing}):
                [found] = self.s.match("outputs", [nothing])
                self.assertIsNone(found["id"])
                self.assertIsNotNone(found["error"])
        for wrong in ([b"x"], [3]):
            with self.assertRaisesRegex(pinakes.ArgumentError, r"texts\[0\]"):
                self.s.match("outputs", wrong)  # type: ignore[list-item]

    def test_a_forked_process_makes_columns_and_matches(self) -> None:
        import pyarrow

        def ask(s: pinakes.Snapshot) -> tuple[int, int]:
            texts = [output["name"] or "x" for output in s.outputs(select="name")]
            return pyarrow.table(s.outputs().to_arrow()).num_rows, len(s.match("outputs", texts[:50]))

        expected = ask(self.s)
        self.assertEqual(in_child(lambda: ask(self.s) == expected and ask(pinakes.open(SNAPSHOTS)) == expected), 0)

    def test_refusals_cross_processes(self) -> None:
        with self.assertRaises(pinakes.ReplyError) as caught:
            self.s.outputs(filter="yaer:2020").count()
        for error in (caught.exception, pinakes.CommandError(3, "cannot read")):
            copy = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(copy), str(copy), vars(copy)), (type(error), str(error), vars(error)))


class Lives(unittest.TestCase):
    def test_a_closed_snapshot_raises_and_its_readers_go_on(self) -> None:
        import pyarrow

        with pinakes.open(SNAPSHOTS / "current") as s:
            records, columns = iter(s.outputs()), s.outputs(select="id").to_arrow()
            count = s.outputs().count()
            self.assertFalse(s.is_closed)
        self.assertTrue(s.is_closed)
        s.close()
        self.assertEqual(sum(1 for _ in records), count)
        self.assertEqual(pyarrow.table(columns).num_rows, count)
        for closed in [lambda: s.get("/"), lambda: s.outputs().count(), lambda: s.id]:
            self.assertRaises(pinakes.ClosedError, closed)

    def test_what_is_no_snapshot_is_not_opened(self) -> None:
        for path in [Path(FOLDER.name) / "nothing", SAMPLE]:
            with self.assertRaises(pinakes.OpenError) as caught:
                pinakes.open(path)
            self.assertIn(str(path), str(caught.exception))
        with self.assertRaises(pinakes.ArgumentError):
            pinakes.open(SNAPSHOTS, pubkeys=["x"])
        with self.assertRaises(pinakes.FetchError):
            pinakes.open("ftp://localhost/")

    def test_damage_raises_and_is_never_answered_from(self) -> None:
        with tempfile.TemporaryDirectory() as copy:
            snapshot = pinakes.build([SAMPLE], out=Path(copy) / "out", quiet=True)
            records = snapshot / "outputs" / "records"
            records.chmod(0o644)
            text = bytearray(records.read_bytes())
            # The first chunk is read when the snapshot is opened.
            for at in range(2 * 8192, len(text) - 8192, 4096):
                text[at] ^= 1
            records.write_bytes(text)
            with pinakes.open(snapshot) as s:
                for read in [
                    lambda: list(s.outputs()),
                    lambda: s.get(f"/outputs/{RECORD}"),
                    lambda: s.match("outputs", [{"title": "deep learning", "year": "2020"}]),
                ]:
                    self.assertRaises(pinakes.DamagedError, read)
                import pyarrow

                with self.assertRaisesRegex(Exception, "row [0-9]+ of outputs"):
                    pyarrow.table(s.outputs().to_arrow())
            subprocess.run(["chmod", "-R", "u+w", copy], check=True)

    def test_threads_share_a_snapshot(self) -> None:
        with pinakes.open(SNAPSHOTS) as s:
            expected = s.get("/outputs?per_page=100").body
            found: list[bytes] = []
            ask = lambda: found.extend(s.get("/outputs?per_page=100").body for _ in range(50))
            threads = [threading.Thread(target=ask) for _ in range(4)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            self.assertEqual(set(found), {expected})
            self.assertEqual(len(found), 200)


class Mirrors(unittest.TestCase):
    """A tree of `publish`, served by a host that knows ranges."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        compiler = _programs.program("pinakes-compiler")
        self.key = self.folder / "key.pub"
        keygen = ["keygen", "--key", self.folder / "key", "--pubkey", self.key]
        publish = ["publish", SNAPSHOTS, "--to", self.folder / "tree", "--key", self.folder / "key", "--quiet"]
        environment = {**os.environ, "PINAKES_KEY_PASSWORD": "a password"}
        for arguments in (keygen, publish):
            subprocess.run([compiler, *arguments], check=True, env=environment, stdout=subprocess.DEVNULL)
        handler = partial(Ranges, directory=os.fspath(self.folder / "tree"))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_port}/"

    def test_an_address_is_a_mirror_from_an_empty_disk(self) -> None:
        import pyarrow

        with pinakes.open(SNAPSHOTS) as whole, pinakes.open(self.url, pubkeys=[self.key]) as s:
            self.assertEqual(s.id, whole.id)
            place = s.path.parent
            for target in ["/outputs?filter=type:article&sort=year:desc", f"/outputs/{RECORD}", "/openalex/works",
                           "/autocomplete?query=a", "/outputs?search=deep+learning&format=bibtex"]:
                self.assertEqual(without_time(s.get(target).body), without_time(whole.get(target).body), target)
            self.assertEqual(list(s.authors()), list(whole.authors()))
            select = "id,year,authors.name"
            found, expected = (pyarrow.table(of.outputs(select=select).to_arrow()) for of in (s, whole))
            self.assertTrue(found.equals(expected))
            texts = [output["name"] for output in whole.outputs(filter="type:article", select="name", sample=3)]
            self.assertEqual(list(s.match("outputs", texts)), list(whole.match("outputs", texts)))
        self.assertFalse(place.exists())

    def test_readers_of_a_closed_snapshot_go_on_and_its_directory_goes_with_them(self) -> None:
        import pyarrow

        s = pinakes.open(self.url, pubkeys=self.key)
        place = s.path.parent
        records, columns = iter(s.outputs()), s.outputs(select="id").to_arrow()
        s.close()
        found = [record["id"] for record in records]
        self.assertEqual(pyarrow.table(columns).column("id").to_pylist(), found)
        self.assertTrue(place.exists())
        del records, columns
        self.assertFalse(place.exists())

    def test_a_directory_keeps_what_was_fetched(self) -> None:
        directory = self.folder / "kept"
        with pinakes.open(self.url, directory=directory, pubkeys=[self.key]) as s:
            first = s.get("/outputs").body
            with self.assertRaisesRegex(pinakes.OpenError, "this process has open"):
                pinakes.open(self.url, directory=directory)
        Ranges.ranges = 0
        with pinakes.open(self.url, directory=directory) as s:
            self.assertEqual(s.get("/outputs").body, first)
        self.assertEqual(Ranges.ranges, 0)
        subprocess.run(["chmod", "-R", "u+w", directory], check=True)

    def test_a_forked_process_opens_an_address_again(self) -> None:
        s = pinakes.open(self.url, pubkeys=self.key)
        self.addCleanup(s.close)

        def ask() -> bool:
            self.assertRaises(pinakes.OpenError, s.outputs().count)
            with pinakes.open(self.url, pubkeys=self.key) as again:
                return again.outputs().count() > 0

        self.assertEqual(in_child(ask), 0)
        # The child has not removed the directory.
        self.assertTrue(s.path.exists())
        self.assertGreater(s.outputs(filter="type:article").count(), 0)

    def test_a_table_says_why_a_host_failed(self) -> None:
        import pyarrow

        with pinakes.open(self.url, pubkeys=self.key) as s:
            columns = s.outputs(filter="type:article").to_arrow()
            (self.folder / "tree").rename(self.folder / "gone")
            with self.assertRaisesRegex(Exception, "not found; check the address"):
                pyarrow.table(columns)

    def test_an_interrupt_ends_the_wait_for_a_host(self) -> None:
        code = "import pinakes, sys; pinakes.open(sys.argv[1])"
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"http://127.0.0.1:{silent.getsockname()[1]}/"
            with subprocess.Popen([sys.executable, "-c", code, address], stderr=subprocess.PIPE, text=True) as run:
                # It asks, and gets no answer.
                with silent.accept()[0]:
                    run.send_signal(signal.SIGINT)
                    self.assertIn("KeyboardInterrupt", run.communicate(timeout=20)[1])

    def test_a_publication_without_the_key_is_not_trusted(self) -> None:
        other = self.folder / "other.pub"
        compiler = _programs.program("pinakes-compiler")
        subprocess.run([compiler, "keygen", "--key", self.folder / "other", "--pubkey", other], check=True,
                       stdout=subprocess.DEVNULL)
        self.assertRaises(pinakes.FetchError, pinakes.open, self.url, pubkeys=[other])

    def test_the_command_serves_an_address(self) -> None:
        with serving([Path(sys.executable).parent / "pinakes", self.url], XDG_CACHE_HOME=str(self.folder)) as address:
            connection = http.client.HTTPConnection(address)
            connection.request("GET", f"/outputs/{RECORD}")
            self.assertEqual(json.load(connection.getresponse())["id"], RECORD)
            connection.close()
        self.assertEqual(len(list((self.folder / "pinakes").iterdir())), 1)

    def test_pull_makes_a_whole_copy(self) -> None:
        with tempfile.TemporaryDirectory() as out:
            stages: list[str] = []
            snapshot = pinakes.pull(self.url, out=out, pubkey=[self.key], progress=lambda *at: stages.append(at[0]))
            with pinakes.open(out) as s, pinakes.open(SNAPSHOTS) as whole:
                self.assertEqual((s.id, snapshot.name), (whole.id, whole.id))
            self.assertTrue(stages)
            subprocess.run(["chmod", "-R", "u+w", out], check=True)


def in_child(ask: Callable[[], bool]) -> int:
    """Asks in a forked process, which must end. Returns 0 for yes."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if ask() else 1)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(2)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


def without_time(body: bytes) -> str:
    """A body without the time that it took, which OpenAlex's dialect states."""
    try:
        value = json.loads(body)
    except ValueError:
        return body.decode()
    if isinstance(value, dict):
        value.get("meta", {}).pop("db_response_time_ms", None)
    return json.dumps(value)


class Ranges(http.server.SimpleHTTPRequestHandler):
    """Serves files, and ranges of them."""

    protocol_version = "HTTP/1.1"
    ranges = 0

    def do_GET(self) -> None:
        wanted = self.headers.get("range")
        path = Path(self.translate_path(self.path))
        if wanted is None or not path.is_file():
            return super().do_GET()
        Ranges.ranges += 1
        first, last = (int(number) for number in wanted.removeprefix("bytes=").split("-"))
        text = path.read_bytes()
        part = text[first : last + 1]
        self.send_response(206)
        self.send_header("content-range", f"bytes {first}-{first + len(part) - 1}/{len(text)}")
        self.send_header("content-length", str(len(part)))
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *_: Any) -> None:
        pass


class Programs(unittest.TestCase):
    def test_a_build_tells_its_progress(self) -> None:
        with tempfile.TemporaryDirectory() as out:
            told: list[tuple[str, int, int, str]] = []
            snapshot = pinakes.build(SAMPLE, out=out, progress=lambda *at: told.append(at))
            self.assertEqual(snapshot.parent, Path(out).resolve())
            self.assertGreater(len({stage for stage, *_ in told}), 3)
            self.assertTrue(all(0 <= done <= total for _, done, total, _ in told), told)
            self.assertTrue(any(done == total > 0 for _, done, total, _ in told))
            subprocess.run(["chmod", "-R", "u+w", out], check=True)

    def test_a_failed_run_raises_its_message_and_code(self) -> None:
        for inputs, options, code, said in [
            (["/nowhere"], {}, 3, "/nowhere"),
            ([SAMPLE], {"where": ["outputs:yaer:2020"]}, 2, "did you mean `year`"),
            ([SAMPLE], {"nothing": True}, 2, "--nothing"),
        ]:
            with tempfile.TemporaryDirectory() as out, self.assertRaises(pinakes.CommandError) as caught:
                pinakes.build(inputs, out=out, **options)
            self.assertEqual(caught.exception.code, code)
            self.assertIn(said, str(caught.exception))

    def test_columns_are_selected_by_several_texts(self) -> None:
        with tempfile.TemporaryDirectory() as out:
            table = pinakes.export(SNAPSHOTS, "authors", out=out + "/authors.csv", format="csv", select=["id", "name"])
            self.assertEqual(table.read_text().splitlines()[0], "id,name")
            self.assertRaises(pinakes.ArgumentError, pinakes.export, SNAPSHOTS, "authors", out="-")

    def test_an_interrupt_ends_the_run_and_removes_what_is_unfinished(self) -> None:
        def interrupt(*_: object) -> None:
            signal.raise_signal(signal.SIGINT)

        with tempfile.TemporaryDirectory() as out:
            self.assertRaises(KeyboardInterrupt, pinakes.build, SAMPLE, out=out, progress=interrupt)
            left = [entry.name for entry in Path(out).iterdir() if entry.name not in ("objects", ".lock")]
            self.assertEqual([name for name in left if not name.startswith(".")], [])
            self.assertEqual([name for name in left if "tmp" in name], [])
            self.assertRaises(pinakes.OpenError, pinakes.open, out)

    def test_a_run_ends_with_the_process_that_began_it(self) -> None:
        with tempfile.TemporaryDirectory() as out:
            code = "import os, pinakes, sys; pinakes.build(sys.argv[1], out=sys.argv[2], progress=lambda *_: os.kill(os.getpid(), 9))"
            run = subprocess.run([sys.executable, "-c", code, SAMPLE, out], capture_output=True)
            self.assertEqual(run.returncode, -signal.SIGKILL)
            until = time.monotonic() + 20
            # The directory can be used as soon as the run has ended.
            while True:
                try:
                    pinakes.build(SAMPLE, out=out, quiet=True)
                    break
                except pinakes.CommandError as error:
                    self.assertEqual((error.code, time.monotonic() < until), (7, True), str(error))
                    time.sleep(0.05)
            subprocess.run(["chmod", "-R", "u+w", out], check=True)

    def test_the_commands_are_installed(self) -> None:
        places = Path(sys.executable).parent
        for name in ("pinakes-compiler", "pinakes-server", "pinakes"):
            said = subprocess.run([places / name, "--version"], capture_output=True, text=True, check=True).stdout
            self.assertTrue(said.startswith(f"{name} {pinakes.__version__}"), said)
        usage = subprocess.run([places / "pinakes"], capture_output=True, text=True)
        self.assertEqual(usage.returncode, 2)
        self.assertIn("pinakes SNAPSHOTS|SNAPSHOT|URL", usage.stdout)
        wrong = subprocess.run([places / "pinakes", "--listen", "127.0.0.1:0", SNAPSHOTS], capture_output=True, text=True)
        self.assertIn("write `pinakes SNAPSHOTS --listen", wrong.stderr)
        for place in (SNAPSHOTS, (SNAPSHOTS / "current").resolve()):
            with serving([places / "pinakes", place]) as address:
                self.assertTrue(address.startswith("127.0.0.1:"))


def load_tests(_: unittest.TestLoader, tests: unittest.TestSuite, __: object) -> unittest.TestSuite:
    """Builds the snapshot, and adds the examples of the docstrings."""
    pinakes.build([SAMPLE], out=SNAPSHOTS, quiet=True)
    atexit.register(remove_snapshots)
    given: dict[str, Any] = {"pinakes": pinakes, "snapshots": SNAPSHOTS, "sample": SAMPLE}

    def begin(test: doctest.DocTest) -> None:
        test.globs["s"] = pinakes.open(SNAPSHOTS)

    def end(test: doctest.DocTest) -> None:
        test.globs["s"].close()

    for module in (pinakes, _snapshot, _programs, _errors):
        suite = doctest.DocTestSuite(module, extraglobs=given, setUp=begin, tearDown=end)
        tests.addTests(suite)
    return tests


if __name__ == "__main__":
    unittest.main()
