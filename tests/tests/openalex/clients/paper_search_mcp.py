"""A server of the Model Context Protocol that searches api.openalex.org, which is a mirror here."""

import asyncio
import json
import os
import sys

import requests
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

own = os.environ["PINAKES"]
expected = requests.get(own + "/outputs?search=deep+learning&per_page=10", timeout=30).json()["results"][:3]


async def ask():
    program = StdioServerParameters(command=sys.executable, args=["-m", "paper_search_mcp.server"], env=dict(os.environ))
    async with stdio_client(program, errlog=open(os.devnull, "w")) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()
            arguments = {"query": "deep learning", "max_results": 3}
            found = await session.call_tool("search_openalex", arguments)
            papers = [json.loads(content.text) for content in found.content]
            assert [paper["paper_id"] for paper in papers] == [record["id"].removeprefix("HX_") for record in expected]
            assert [paper["title"] for paper in papers] == [record["title"] for record in expected]


asyncio.run(ask())
print("paper-search-mcp works")
