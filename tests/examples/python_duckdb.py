# %% [markdown]
# # SQL over an exported table, with DuckDB
#
# ```sh
# pinakes-compiler export SNAPSHOTS --format parquet --out tables
# TABLES=tables python python_duckdb.py
# ```
#
# It needs `pip install duckdb pandas`. No server runs: DuckDB reads the files, and only the columns that it needs.

# %%
import os

import duckdb

tables = os.environ.get("TABLES", "tables")
outputs = duckdb.read_parquet(f"{tables}/outputs.parquet")

# %% [markdown]
# Works and open access by year.

# %%
by_year = duckdb.sql("""
    SELECT year, count(*) AS works, avg(CAST(open_access.is_oa AS INTEGER)) AS open_share
    FROM outputs GROUP BY year ORDER BY year DESC LIMIT 10
""").df()
print(by_year.to_string(index=False))

# %% [markdown]
# Authors are a nested column: one row for each author of a work.

# %%
print(duckdb.sql("""
    SELECT author.name, count(*) AS works, sum(cited_by_count) AS citations
    FROM (SELECT unnest(authors) AS author, cited_by_count FROM outputs)
    GROUP BY ALL ORDER BY works DESC, citations DESC LIMIT 5
""").df().to_string(index=False))

[(count,)] = duckdb.sql("SELECT count(*) FROM outputs WHERE open_access.is_oa").fetchall()
print("open works", count)
