# %% [markdown]
# # The client that openapi-python-client generates
#
# ```sh
# pip install openapi-python-client
# openapi-python-client generate --url http://127.0.0.1:8080/openapi.json --output-path client
# PINAKES=http://127.0.0.1:8080 PYTHONPATH=client python python_openapi.py
# ```

# %%
import os

from pinakes_client import Client
from pinakes_client.api.outputs import list_citations_of_output, list_outputs
from pinakes_client.models import BadRequest, GroupPage, ListOutputsPerPage, OutputPage

client = Client(base_url=os.environ.get("PINAKES", "http://127.0.0.1:8080"))

# %% [markdown]
# The most cited articles, as objects with typed members.

# %%
page = list_outputs.sync(
    client=client, filter_="type:article,year:>2000", sort="cited_by_count:desc", per_page=ListOutputsPerPage.VALUE_10
)
assert isinstance(page, OutputPage)
for output in page.results:
    print(output.id, output.year, output.cited_by_count, output.name)
print("works", page.meta.count)

# %% [markdown]
# The outputs that refer to the most cited of them, and groups of a list.

# %%
citations = list_citations_of_output.sync(page.results[0].id, client=client)
assert isinstance(citations, OutputPage)
print("citations", citations.meta.count)

groups = list_outputs.sync(
    client=client, filter_="type:article,year:>2000", group_by="year", per_page=ListOutputsPerPage.VALUE_100
)
assert isinstance(groups, GroupPage)
assert sum(group.count for group in groups.group_by) == page.meta.count

# %% [markdown]
# A refused request is an object too: it says what is wrong.

# %%
refused = list_outputs.sync(client=client, filter_="publication_year:2020")
assert isinstance(refused, BadRequest)
print(refused.details[0].reason)
