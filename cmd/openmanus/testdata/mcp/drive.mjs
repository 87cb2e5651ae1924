// A client of MCP that we did not write, the official one for JavaScript. It
// starts the program given as its arguments, or connects to URL with TOKEN;
// has it do the task of TASK; says yes to what it is asked, and prints what it
// saw, one JSON object a line.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
const load = async (name) => import(pathToFileURL(createRequire(process.env.SDK + "/").resolve("@modelcontextprotocol/sdk/" + name)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
const { ElicitRequestSchema } = await load("types.js");

const print = (seen) => console.log(JSON.stringify(seen));
const client = new Client({ name: "drive", version: "1" }, { capabilities: process.env.MUTE ? {} : { elicitation: {} } });
if (!process.env.MUTE) {
  client.setRequestHandler(ElicitRequestSchema, (request) => {
    print({ asked: request.params.message });
    return { action: "accept", content: { decision: process.env.SAY ?? "allow" } };
  });
}
const transport = process.env.URL
  ? new StreamableHTTPClientTransport(new globalThis.URL(process.env.URL), { requestInit: { headers: { Authorization: "Bearer " + process.env.TOKEN } } })
  : new StdioClientTransport({ command: process.argv[2], args: process.argv.slice(3), env: process.env, stderr: "ignore" });
await client.connect(transport);
const { tools } = await client.listTools();
print({ tools: tools.map((tool) => tool.name) });
print({ editor: tools.find((tool) => tool.name === "str_replace_editor").inputSchema.properties.command.enum });
const result = await client.callTool({ name: "run_task", arguments: { prompt: process.env.TASK } }, undefined, {
  onprogress: (progress) => print({ progress: progress.message }),
});
print({ error: result.isError ?? false, text: result.content.filter((c) => c.type === "text").map((c) => c.text), structured: result.structuredContent });
for (const link of result.content.filter((c) => c.type === "resource_link")) {
  const file = await client.readResource({ uri: link.uri });
  print({ file: link.name, text: file.contents[0].text });
}
if (result.structuredContent) {
  const session = await client.readResource({ uri: "openmanus://sessions/" + result.structuredContent.session });
  print({ session: JSON.parse(session.contents[0].text).summary.status });
}
await client.close();
