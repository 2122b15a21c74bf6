"""Reads Parquet files with an engine, and prints the rows of each as one line of JSON, in the order of the file.

    read_table.py duckdb|polars|pandas|spark FILE...
"""

import datetime
import json
import sys


def duckdb(path):
    import duckdb

    table = duckdb.connect().execute("SET TimeZone = 'UTC'").execute("FROM read_parquet(?)", [path])
    names = [column[0] for column in table.description]
    return (dict(zip(names, row)) for row in table.fetchall())


def polars(path):
    import polars

    return polars.read_parquet(path).iter_rows(named=True)


def pandas(path):
    import pandas

    return pandas.read_parquet(path, engine="pyarrow", dtype_backend="pyarrow").to_dict("records")


def spark(path):
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    return (row.asDict(recursive=True) for row in session.read.parquet(path).collect())


def plain(value):
    """Turns the values that only Python knows into those of JSON."""
    if isinstance(value, datetime.datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S.%f")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, str) or value is None:
        return value
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    # The missing values of pandas equal nothing.
    return value if value is not None and bool(value == value) else None


def missing(value):
    """Whether a value is the missing value of pandas, of which no truth is known."""
    return type(value).__name__ in ("NAType", "NaTType")


def main():
    engine, *paths = sys.argv[1:]
    for path in paths:
        rows = globals()[engine](path)
        rows = [
            {key: None if missing(value) else plain(value) for key, value in row.items()} for row in rows
        ]
        print(json.dumps(rows, ensure_ascii=True, allow_nan=False))


main()
