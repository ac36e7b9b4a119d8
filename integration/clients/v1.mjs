// A session of the official TypeScript SDK, version 1 (protocol 2025-11-25):
// node v1.mjs URL TOKEN, with a list of {tool, args} as JSON on standard input.
// Prints what it got, as JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { readFileSync } from "node:fs";

const [url, token] = process.argv.slice(2);
const steps = JSON.parse(readFileSync(0, "utf8"));
const requestInit = { headers: { Authorization: `Bearer ${token}` } };
const transport = url.endsWith("/sse")
  ? new SSEClientTransport(new URL(url), { requestInit, eventSourceInit: { fetch: (u, i) => fetch(u, { ...i, headers: { ...i?.headers, ...requestInit.headers } }) } })
  : new StreamableHTTPClientTransport(new URL(url), { requestInit });
const client = new Client({ name: "v1", version: "1" });
await client.connect(transport);
const { tools } = await client.listTools();
const results = [];
for (const { tool, args } of steps) results.push(await client.callTool({ name: tool, arguments: args }));
console.log(JSON.stringify({ server: client.getServerVersion(), tools: tools.map((t) => t.name), results }));
await client.close();
