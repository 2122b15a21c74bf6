"""Measures the Python package over a snapshot of generated outputs: python tests/bench/python.py SNAPSHOTS

- columns of a whole list for pyarrow, beside an export of the same columns to Parquet
- replies in the process, beside the same replies over HTTP on the loopback interface
- matches of citations

Each line is the median of five runs; the two of a pair take turns.
"""

from __future__ import annotations

import http.client
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable

import pinakes
import pyarrow
from pinakes import _programs

RUNS = 5
MATCHES = 100_000
REQUESTS = 500
COLUMNS = "id,doi,name,year,type,language,cited_by_count,primary_venue.is_oa,authors.name,primary_topic"


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def pair(one: Callable[[], object], other: Callable[[], object]) -> tuple[float, float]:
    """Runs two works in turns. Returns the median time of each."""
    one(), other()
    times = [(seconds(one), seconds(other)) for _ in range(RUNS)]
    return statistics.median(at[0] for at in times), statistics.median(at[1] for at in times)


def measure_columns(s: pinakes.Snapshot, snapshots: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "outputs.parquet"
        columns, export = pair(
            lambda: pyarrow.table(s.outputs(select=COLUMNS).to_arrow()),
            lambda: pinakes.export(snapshots, "outputs", out=out, format="parquet", select=COLUMNS, quiet=True),
        )
    count = s.outputs().count()
    print(f"to_arrow, {count} outputs, 10 columns: {columns:.2f} s; export {export:.2f} s; {export / columns:.2f} of its speed")


def measure_replies(s: pinakes.Snapshot, snapshots: Path) -> None:
    server = subprocess.Popen(
        [_programs.program("pinakes-server"), "--snapshots", snapshots, "--listen", "127.0.0.1:0", "--no-limits"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split("://")[1].strip()
        connection = http.client.HTTPConnection(address)
        ids = [record["id"] for record in s.outputs(select="id", sample=REQUESTS)]
        for name, targets in [
            ("a record", [f"/outputs/{id}" for id in ids]),
            ("a page", [f"/outputs?filter=type:article&page={page}" for page in range(1, 101)]),
        ]:

            def over_http() -> None:
                for target in targets:
                    connection.request("GET", target)
                    connection.getresponse().read()

            here, there = pair(lambda: [s.get(target) for target in targets], over_http)
            micros = [1e6 * time / len(targets) for time in (here, there)]
            print(f"get, {name}: {micros[0]:.0f} µs; over HTTP {micros[1]:.0f} µs; {here / there:.2f} of its time")
    finally:
        server.terminate()
        server.communicate()


def measure_matches(s: pinakes.Snapshot) -> None:
    outputs = s.outputs(select="name,year", sample=10_000)
    texts = [f"{output['name']}. {output['year']}" for output in outputs if output["name"]]
    texts = (texts * (MATCHES // len(texts) + 1))[:MATCHES]
    took = seconds(lambda: s.match("outputs", texts))
    print(f"match, {len(texts)} citations: {took:.1f} s, {len(texts) / took:.0f} a second")


def main() -> None:
    snapshots = Path(sys.argv[1])
    with pinakes.open(snapshots) as s:
        measure_columns(s, snapshots)
        measure_replies(s, snapshots)
        measure_matches(s)


main()
