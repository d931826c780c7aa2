"""The client of the protocol's own Python SDK as an independent peer: reads one JSON document from stdin, which says how the
server is started and what is called, and prints what came back. The SDK itself validates every structured answer against the
schema that the server published."""

import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters
from mcp.types import ElicitResult


async def main(order):
    asked = []

    async def ask(_, params):
        asked.append(params.message)
        action = order["consent"]
        return ElicitResult(action=action, content={"consent": True} if action == "accept" else None)

    server = StdioServerParameters(
        command=order["program"], args=["mcp"], env=order["environment"], cwd=order["folder"]
    )
    can_ask = {"elicitation_callback": ask} if order["consent"] else {}
    results = []
    async with Client(server, mode=order["mode"], **can_ask) as client:
        tools = (await client.list_tools()).tools
        for call in order["calls"]:
            try:
                result = await client.call_tool(call["tool"], call["arguments"])
                texts = [block.text for block in result.content]
                answer = {"error": bool(result.is_error), "structured": result.structured_content, "texts": texts}
            except MCPError as error:
                answer = {"protocol_error": error.error.code, "texts": [error.error.message]}
            results.append(answer)
        version = client.protocol_version
    return {"version": version, "tools": [tool.name for tool in tools], "results": results, "asked": asked}


print(json.dumps(asyncio.run(main(json.load(sys.stdin)))))
