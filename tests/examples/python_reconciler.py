# %% [markdown]
# # Titles to records, with reconciler and pandas
#
# Open this file as a notebook (Jupytext, VS Code, PyCharm), or run it: `PINAKES=http://127.0.0.1:8080 python python_reconciler.py`.
# It needs `pip install reconciler pandas "numpy<2"`.

# %%
import json
import os
import urllib.parse
import urllib.request

import pandas as pd
from reconciler import reconcile

service = os.environ.get("PINAKES", "http://127.0.0.1:8080") + "/reconcile"
works = pd.DataFrame(
    {
        "title": [
            "Molecular structure of nucleic acids: a structure for deoxyribose nucleic acid",
            "Deep residual learning for image recognition",
            "A title that nobody wrote about anything",
        ],
        "year": ["1953", "2016", "2020"],
    }
)

# %% [markdown]
# The best candidate of each title. `match` is true where the server is sure.

# %%
found = reconcile(
    works["title"], type_id="outputs", property_mapping={"year": works["year"]}, reconciliation_endpoint=service
)
sure = found[found["match"].astype(bool)].copy()
for row in sure.itertuples():
    print(row.id, row.name, sep=" | ")
print("sure", len(sure), "of", len(works))

# %% [markdown]
# Members of these records as new columns.

# %%
members = ["cited_by_count", "primary_venue.source.name"]
extend = {"ids": list(sure["id"]), "properties": [{"id": member} for member in members]}
form = urllib.parse.urlencode({"extend": json.dumps(extend)}).encode()
with urllib.request.urlopen(service, form) as reply:
    rows = json.load(reply)["rows"]
for member in members:
    sure[member] = [next((next(iter(value.values())) for value in rows[id][member]), None) for id in sure["id"]]
print(sure[["id", *members]].to_string(index=False))
