# %% [markdown]
# # The tools of a language model, asked by hand
#
# Open this file as a notebook (Jupytext, VS Code, PyCharm), or run it: `PINAKES=http://127.0.0.1:8080 python python_mcp.py`.
# It needs `pip install mcp`. A program that works for a language model makes these calls by itself.

# %%
import asyncio
import json
import os

from mcp import Client

address = os.environ.get("PINAKES", "http://127.0.0.1:8080") + "/mcp"


def answer(result):
    """The JSON of a tool's answer."""
    return json.loads(result.content[0].text)


# %% [markdown]
# Words lead to records, a record to what cites it, and a citation to its record.

# %%
async def ask():
    async with Client(address) as client:
        tools = (await client.list_tools()).tools
        print("tools", *sorted(tool.name for tool in tools))
        # Without words, the most cited works come first. `WORDS` takes others.
        asked = {"query": os.environ["WORDS"]} if "WORDS" in os.environ else {}
        found = answer(await client.call_tool("search", asked))
        if not found["result"]["results"]:
            raise SystemExit("this server has no such works")
        first = found["result"]["results"][0]
        print(first["id"], first["name"], sep=" | ")
        citing = answer(await client.call_tool("cited_by", {"id": first["id"]}))
        print("cited by", citing["result"]["meta"]["count"])
        record = answer(await client.call_tool("get", {"id": first["doi"] or first["id"], "members": ["year", "abstract"]}))
        print("year", record["result"]["year"])
        [citation] = answer(await client.call_tool("cite", {"ids": [first["id"]]}))["references"]
        print(citation)
        matched = answer(await client.call_tool("match", {"text": citation}))
        # A work without a title is no citation that means a record.
        [best] = matched["result"]["results"][:1] or [{"match": False, "id": None}]
        print("sure", best["match"], best["id"])
        years = answer(await client.call_tool("count", {"group_by": "type", "filter": "is_oa:true"}))
        print("types", len(years["result"]["group_by"]))
        refused = await client.call_tool("search", {"filter": "yaer:2020"})
        print("refused", refused.is_error, "year" in refused.content[0].text)
        resources = (await client.list_resources()).resources
        guide = (await client.read_resource(resources[0].uri)).contents[0]
        print("guide", guide.text.splitlines()[0])
        print("snapshot", found["snapshot"])


asyncio.run(ask())
