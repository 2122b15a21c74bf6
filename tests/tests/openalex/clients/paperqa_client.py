"""The client of paper-qa asks api.openalex.org, which is a mirror here, for a work by DOI and by title."""

import asyncio
import os

import httpx
import requests
from paperqa.clients.client_models import DOIQuery, TitleAuthorQuery
from paperqa.clients.openalex import OpenAlexProvider

own = os.environ["PINAKES"]
listed = requests.get(own + "/outputs?filter=has_doi:true,from_updated_date:2025-11-01&per_page=10", timeout=30)
records = [record for record in listed.json()["results"] if len(record["title"] or "") > 30]


async def ask():
    provider = OpenAlexProvider()
    async with httpx.AsyncClient() as session:
        for record in records[:3]:
            doi = record["doi"].removeprefix("https://doi.org/")
            for query in [
                DOIQuery(doi=doi, client=session),
                TitleAuthorQuery(title=record["title"], authors=[], client=session),
            ]:
                found = await provider._query(query)
                assert found.title == record["title"], found
                assert found.doi == doi
                assert found.year == record["year"]
                assert found.citation_count == record["cited_by_count"]
                assert len(found.authors) == len(record["authors"])
                assert all(found.authors), found.authors


asyncio.run(ask())
print("paper-qa works")
