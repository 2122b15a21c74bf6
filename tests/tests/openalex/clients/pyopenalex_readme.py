"""What the README of PyOpenAlex asks, at api.openalex.org, which is a mirror here. Its models check every type."""

import os

import requests
from pyopenalex import OpenAlex

own = os.environ["PINAKES"]
client = OpenAlex(api_key="none")


def count(path):
    return requests.get(own + path, timeout=30).json()["meta"]["count"]


response = client.works.search("deep learning").get()
assert response.meta.count == count("/outputs?search=deep+learning") > 0
work = client.works.get(response.results[0].id)
assert work.title == response.results[0].title
recent = client.works.filter(from_updated_date="2025-11-01")
read = [found.id for found in recent]
assert len(read) == len(set(read)) == count("/outputs?filter=from_updated_date:2025-11-01") > 100
assert client.works.filter(publication_year=2004).count() == count("/outputs?filter=year:2004")
groups = client.works.filter(publication_year=2004).group_by("type").get().group_by
assert sum(group.count for group in groups) == count("/outputs?filter=year:2004,type:!null")
assert len(client.works.sample(10, seed=42).get().results) == 10
assert sum(1 for _ in client.institutions.per_page(200)) == count("/institutions")
assert sum(1 for _ in client.funders.per_page(200)) == count("/funders")
assert client.institutions.autocomplete("university")[0].works_count
print("pyopenalex works")
