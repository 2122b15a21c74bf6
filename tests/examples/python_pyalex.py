# %% [markdown]
# # pyalex asks a mirror
#
# Open this file as a notebook (Jupytext, VS Code, PyCharm), or run it: `PINAKES=http://127.0.0.1:8080 python python_pyalex.py`.
# It needs `pip install pyalex`.

# %%
import os
from urllib.parse import urlsplit, urlunsplit

import pyalex
from pyalex import Authors, Works, autocomplete

# %% [markdown]
# Every address that pyalex makes has the host in it. These lines put the mirror in its place; the rest of a script stays
# as it is.

# %%
mirror = urlsplit(os.environ.get("PINAKES", "http://127.0.0.1:8080"))
address = lambda parts: urlunsplit((*mirror[:2], f"/openalex/{parts[2].lstrip('/')}", *parts[4:]))
pyalex.api.urlunparse = address

# %% [markdown]
# A filter, its count, and all of its pages.

# %%
query = Works().filter(publication_year=2015, is_oa=True)
print("works", query.count())
print("read", sum(len(page) for page in query.paginate(per_page=50)))

# %% [markdown]
# A record by its DOI, with its abstract as a text, and what cites it.

# %%
work = Works().filter(has_doi=True, has_abstract=True).sort(cited_by_count="desc").get(per_page=1)[0]
same = Works()[work["doi"]]
print("title", same["title"])
print("abstract", same["abstract"])
print("cited by", Works().filter(cites=work["id"].rsplit("/", 1)[1]).count())

# %% [markdown]
# Groups, names and autocomplete.

# %%
print("types", *(group["key"] for group in Works().group_by("type").get()))
print("authors", Authors().search_filter(display_name="smith").count())
print("completed", autocomplete("uni")[0]["display_name"])
