// A server of the TypeScript SDK 2, which writes a tool once for both protocols: it asks by its result.
// The first argument is `reject` for one that knows the newest protocol alone, else `serve`.
import { acceptedContent, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const city = z.object({ city: z.string().min(2), days: z.number().int().min(1).max(9).default(3) });

function makeServer() {
  const server = new McpServer({ name: "typescript", version: "2" });
  server.registerTool("travel", { description: "Travel.", inputSchema: z.object({ by: z.enum(["train", "bus"]) }) }, async ({ by }, context) => {
    const answers = context.mcpReq.inputResponses;
    if (answers?.where === undefined) {
      return inputRequired({ inputRequests: { where: inputRequired.elicit({ message: "Which city?", requestedSchema: city }) } });
    }
    const chosen = acceptedContent(answers, "where", city);
    return { content: [{ type: "text", text: `${by}: ${chosen ? JSON.stringify(chosen) : answers.where.action}` }] };
  });
  server.registerTool("add", { description: "Add.", inputSchema: z.object({ a: z.number().int(), b: z.number().default(1) }), outputSchema: z.object({ sum: z.number() }) }, async ({ a, b }) => ({
    content: [{ type: "text", text: `${a + b}` }],
    structuredContent: { sum: a + b },
  }));
  server.registerTool("fail", { description: "Fail." }, async () => {
    throw new Error("no trains today");
  });
  return server;
}

serveStdio(makeServer, { legacy: process.argv[2] ?? "serve" });
