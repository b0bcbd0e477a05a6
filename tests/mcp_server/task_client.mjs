// A client of the TypeScript SDK 1 that calls a tool as a task of the protocol of 2025-11-25, as `experimental.tasks` does.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";

const [url, token, name, does] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${token}` };
const client = new Client({ name: "typescript", version: "1" }, { capabilities: { tasks: {} } });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
await client.listTools();
const seen = [];
let text = "";
for await (const message of client.experimental.tasks.callToolStream({ name, arguments: {} }, CallToolResultSchema, { task: { ttl: 60000 } })) {
  seen.push(message.type);
  if (message.type === "taskCreated") process.stderr.write("created\n");
  if (message.type === "taskCreated" && does === "cancel") {
    text = (await client.experimental.tasks.cancelTask(message.task.taskId)).status;
    break;
  }
  if (message.type === "result") text = message.result.content[0].text;
  if (message.type === "error") text = String(message.error);
}
console.log(JSON.stringify({ seen: [...new Set(seen)], text }));
process.exit(0);
