# %% [markdown]
# # Works of an institution, with httpx and pandas
#
# Open this file as a notebook (Jupytext, VS Code, PyCharm), or run it: `PINAKES=http://127.0.0.1:8080 python python_httpx.py`.
# It needs `pip install httpx pandas`.

# %%
import os

import httpx
import pandas as pd

client = httpx.Client(base_url=os.environ.get("PINAKES", "http://127.0.0.1:8080"))


def get(path, **parameters):
    """Reads one reply. The server says what is wrong with a request."""
    reply = client.get(path, params=parameters)
    if reply.is_client_error:
        raise SystemExit(f"{reply.url}: {reply.text}")
    return reply.raise_for_status().json()


def pages(path, **parameters):
    """Reads all records of a list, 100 a page."""
    page, read, count = 1, 0, 1
    while read < count:
        reply = get(path, page=page, per_page=100, **parameters)
        yield from reply["results"]
        page, read, count = page + 1, read + len(reply["results"]), reply["meta"]["count"]


# %% [markdown]
# Autocomplete finds an institution by the first letters of its name, which `INSTITUTION` has. Without it, the institution is the one
# that most works name.

# %%
name = os.environ.get("INSTITUTION")
if name:
    found = get("/autocomplete/institutions", query=name)["results"]
    if not found:
        raise SystemExit(f"this server knows no institution `{name}`; ask for another")
    institution = found[0]
else:
    groups = get("/outputs", group_by="authors.affiliations.id")["group_by"]
    named = [{"id": group["key"], "name": group["key_display_name"]} for group in groups if group["key"]]
    if not named:
        raise SystemExit("the works of this server name no institution")
    institution = named[0]
print(institution["id"], institution["name"])

# %% [markdown]
# A table of all of its works: one row a work.

# %%
works = pd.json_normalize(
    list(pages("/outputs", filter=f"authors.affiliations.id:{institution['id']}", sort="cited_by_count:desc"))
)
if works.empty:
    raise SystemExit("this server has no works of the institution")
works = works[["id", "name", "year", "type", "cited_by_count"]]
print(works.head(5).to_string(index=False))

# %% [markdown]
# Works and citations by year, from the table; and the same counts by the server, without reading the records.

# %%
by_year = works.groupby("year").agg(works=("id", "count"), citations=("cited_by_count", "sum"))
print(by_year.tail(5))

groups = get("/outputs", filter=f"authors.affiliations.id:{institution['id']}", group_by="year", per_page=100)
counted = {group["key"]: group["count"] for group in groups["group_by"] if group["key"] is not None}
assert counted == by_year["works"].to_dict()

# %% [markdown]
# The h-index of these works.

# %%
statistics = get("/statistics/outputs", filter=f"authors.affiliations.id:{institution['id']}")
print("works", statistics["count"], "h-index", statistics["h_index"])
assert statistics["count"] == len(works)
