"""Calls the tools by the Python SDK: `sdk.py ADDRESS LIMITED_ADDRESS PROGRAM SNAPSHOTS`."""

import asyncio
import json
import sys

from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters

WATSON = "HX_W2900000096"
CALLS = {
    "search": {"query": "structure", "page": 1},
    "get": {"id": WATSON, "members": ["id", "doi"]},
    "match": {"list": "sources", "text": "Nature"},
    "cite": {"ids": [WATSON], "format": "bibtex"},
    "cited_by": {"id": WATSON},
    "references": {"id": WATSON},
    "count": {"group_by": "year"},
    "statistics": {"filter": "is_oa:true"},
}


async def talk(target, mode):
    """Initialises, lists, calls, errs and cancels."""
    async with Client(target, mode=mode) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == list(CALLS), tools
        for name, arguments in CALLS.items():
            answer = await client.call_tool(name, arguments)
            assert not answer.is_error, answer
            text = json.loads(answer.content[0].text)
            assert text == answer.structured_content and text["snapshot"], answer
        refused = await client.call_tool("search", {"filter": "yaer:2020"})
        assert refused.is_error and "did you mean `year`?" in refused.content[0].text, refused
        try:
            raise AssertionError(await client.call_tool("nothing", {}))
        except MCPError as error:
            assert error.error.code == -32602 and "there are search, get" in error.error.message, error
        # Some calls are cancelled before their answer, some are not: later ones are answered.
        for pause in range(20):
            call = asyncio.create_task(client.call_tool("statistics", {}))
            await asyncio.sleep(pause / 10_000)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
        assert not (await client.call_tool("search", {"query": "structure"})).is_error
        resources = (await client.list_resources()).resources
        assert "## Routes" in (await client.read_resource(resources[1].uri)).contents[0].text


async def exceed(address):
    """Calls until a limit refuses, and reads why."""
    async with Client(address) as client:
        for _ in range(10):
            try:
                await client.call_tool("count", {"group_by": "year"})
            except MCPError as error:
                assert "daily quota" in error.error.message and "try again in" in error.error.message, error
                assert error.error.data == {"statusCode": 429}, error
                return
        raise AssertionError("no limit refuses ten calls")


async def main(address, limited, program, snapshots):
    over_lines = StdioServerParameters(command=program, args=["mcp", "--snapshots", snapshots])
    for target in (address, over_lines):
        for mode in ("auto", "legacy"):
            await talk(target, mode)
            print(mode)
    await exceed(limited)
    print("limits")


asyncio.run(main(*sys.argv[1:]))
