"""Writes OpenAlex records with Spark as the producer does: Parquet and JSON lines of one table.

usage: spark.py OUT ENTITY=FILE…     FILE: JSON lines, or .gz
writes OUT/parquet/data/parquet/ENTITY/updated_date=…/part_0000.parquet, OUT/jsonl/data/jsonl/ENTITY/…/part_0000.gz
and manifests of both. Environment: CODEC (snappy), TIMESTAMPS (TIMESTAMP_MICROS or INT96).
"""

import gzip
import json
import os
import pathlib
import platform
import shutil
import sys
import tempfile
import zipfile

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql import types as T

DATE = "updated_date=2026-06-01"
TIMES = ["updated_date", "created_date"]
ABSTRACT = "abstract_inverted_index"
STRINGS = T.MapType(T.StringType(), T.StringType())


def lines_of(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def as_table(record):
    """The record as the producer's table holds it: the abstract as text, times with their fraction."""
    abstract = record.get(ABSTRACT)
    if isinstance(abstract, dict):
        abstract = abstract.get("InvertedIndex", abstract)
        record[ABSTRACT] = json.dumps(abstract, ensure_ascii=False)
    return record


def schema_of(inferred):
    """The inferred schema with maps, times and dates where the release has them."""
    kinds = {name: T.TimestampType() for name in TIMES}
    kinds |= {"publication_date": T.DateType(), "ids": STRINGS, ABSTRACT: T.StringType()}
    kinds["international"] = T.StructType([T.StructField("display_name", STRINGS)])
    return T.StructType(
        [T.StructField(field.name, kinds.get(field.name, field.dataType)) for field in inferred]
    )


def write_manifest(folder, form, entity, part, count):
    size = part.stat().st_size
    url = f"s3://openalex/data/{form}/{entity}/{DATE}/{part.name}"
    manifest = {
        "date": "2026-06-02",
        "format": form,
        "entity": entity,
        "record_count": count,
        "content_length": size,
        "files": [{"url": url, "meta": {"content_length": size, "record_count": count}}],
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))


def snappy_options(folder):
    """Java options that name the library of Snappy: where musl is installed too, it guesses wrong."""
    [jar] = (pathlib.Path(pyspark.__file__).parent / "jars").glob("snappy-java-*.jar")
    name = "libsnappyjava.so"
    member = f"org/xerial/snappy/native/Linux/{platform.machine()}/{name}"
    (pathlib.Path(folder) / name).write_bytes(zipfile.ZipFile(jar).read(member))
    return f"-Dorg.xerial.snappy.lib.path={folder} -Dorg.xerial.snappy.lib.name={name}"


def main():
    with tempfile.TemporaryDirectory() as library:
        write_all(library, pathlib.Path(sys.argv[1]), sys.argv[2:])


def write_all(library, out, arguments):
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.extraJavaOptions", snappy_options(library))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.parquet.compression.codec", os.environ.get("CODEC", "snappy"))
        .config(
            "spark.sql.parquet.outputTimestampType",
            os.environ.get("TIMESTAMPS", "TIMESTAMP_MICROS"),
        )
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    for argument in arguments:
        entity, path = argument.split("=", 1)
        with tempfile.TemporaryDirectory() as scratch:
            table = pathlib.Path(scratch) / "table.json"
            records = [as_table(record) for record in lines_of(path)]
            table.write_text("\n".join(json.dumps(record) for record in records))
            schema = schema_of(spark.read.json(str(table)).schema)
            frame = spark.read.schema(schema).json(str(table)).coalesce(1)
            for form, write in [
                ("parquet", frame.write.parquet),
                ("jsonl", frame.write.option("ignoreNullFields", "false")
                    .option("timestampFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSS").json),
            ]:
                written = f"{scratch}/{form}"
                write(written)
                [part] = pathlib.Path(written).glob("part-*")
                folder = out / form / "data" / form / entity
                (folder / DATE).mkdir(parents=True)
                if form == "parquet":
                    part = shutil.move(part, folder / DATE / "part_0000.parquet")
                else:
                    lines = part.read_text(encoding="utf-8").splitlines()
                    part = folder / DATE / "part_0000.gz"
                    with gzip.open(part, "wt", encoding="utf-8") as target:
                        for line in lines:
                            record = json.loads(line)
                            if isinstance(record.get(ABSTRACT), str):
                                record[ABSTRACT] = json.loads(record[ABSTRACT])
                            target.write(json.dumps(record, ensure_ascii=False) + "\n")
                write_manifest(folder, form, entity, pathlib.Path(part), len(records))


main()
