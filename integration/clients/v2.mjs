// The same with version 2 of the official TypeScript SDK:
// node v2.mjs URL TOKEN [auto]; with "auto" it negotiates 2026-07-28.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { readFileSync } from "node:fs";

const [url, token, mode] = process.argv.slice(2);
const steps = JSON.parse(readFileSync(0, "utf8"));
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
const client = new Client({ name: "v2", version: "1" }, mode ? { versionNegotiation: { mode } } : {});
await client.connect(transport);
const { tools } = await client.listTools();
const results = [];
for (const { tool, args } of steps) results.push(await client.callTool({ name: tool, arguments: args }));
console.log(JSON.stringify({ server: client.getServerVersion?.(), tools: tools.map((t) => t.name), results }));
await client.close();
