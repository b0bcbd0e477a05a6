// A server of the TypeScript SDK 1, of the protocol of 2025: it asks by a request of its own.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "typescript", version: "1" });
const city = { type: "object", properties: { city: { type: "string", minLength: 2 }, days: { type: "integer", minimum: 1, maximum: 9, default: 3 } }, required: ["city"] };

server.registerTool("travel", { description: "Travel.", inputSchema: { by: z.enum(["train", "bus"]) } }, async ({ by }) => {
  const { action, content } = await server.server.elicitInput({ message: "Which city?", requestedSchema: city });
  return { content: [{ type: "text", text: `${by}: ${action === "accept" ? JSON.stringify(content) : action}` }] };
});
server.registerTool("add", { description: "Add.", inputSchema: { a: z.number().int(), b: z.number().default(1) }, outputSchema: { sum: z.number() } }, async ({ a, b }) => ({
  content: [{ type: "text", text: `${a + b}` }],
  structuredContent: { sum: a + b },
}));
server.registerTool("fail", { description: "Fail." }, async () => {
  throw new Error("no trains today");
});

await server.connect(new StdioServerTransport());
