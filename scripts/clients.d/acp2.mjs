// An editor that speaks version 2 of the Agent Client Protocol, which is a draft, by the
// protocol's own library: prompts that are acknowledged at once, states, approvals, one of
// them of an agent three levels below, steering, questions, and the story again. Everything
// that the agent sends fits the schema of the draft.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as acp from "@agentclientprotocol/sdk/experimental/v2";
import Ajv from "ajv/dist/2020.js";

const schema = createRequire(import.meta.url)("@agentclientprotocol/sdk/schema/v2/schema.json");
const ajv = new Ajv({ strict: false, validateFormats: false });
ajv.addSchema(schema, "acp");
let checked = 0;
const fits = (name, value) => {
  const check = ajv.getSchema(`acp#/$defs/${name}`);
  assert.ok(check(value), `${name}: ${JSON.stringify(check.errors)}\n${JSON.stringify(value)}`);
  checked++;
};

const cwd = mkdtempSync(join(tmpdir(), "acp-"));
const agent = spawn(process.env.OPENMANUS, ["acp", "--v2", "--model", "scripted:" + join(import.meta.dirname, "acp.txtar"), "--delegate", "swe"], { cwd, stdio: ["pipe", "pipe", "inherit"] });
let updates = [], asked = [], outcome = "allow_once";
const failed = [];
const app = acp.client({ name: "tested", version: "1" })
  .onRequest("session/request_permission", ({ params }) => {
    asked.push(params);
    try { fits("RequestPermissionRequest", params); } catch (e) { failed.push(e); }
    return { outcome: { outcome: "selected", optionId: params.options.find((o) => o.kind === outcome).optionId } };
  })
  .onRequest("elicitation/create", () => ({ action: "accept", content: { answer: "blue" } }))
  .onNotification("session/update", ({ params }) => {
    updates.push(params.update);
    try { fits("UpdateSessionNotification", params); } catch (e) { failed.push(e); }
  });
const connection = app.connect(acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)));
const answers = { "session/new": "NewSessionResponse", "session/resume": "ResumeSessionResponse", "session/list": "ListSessionsResponse", "session/prompt": "PromptResponse", "session/set_config_option": "SetSessionConfigOptionResponse", initialize: "InitializeResponse" };
const call = async (method, params) => {
  const result = await connection.agent.request(method, params);
  if (answers[method]) fits(answers[method], result);
  return result;
};
const until = async (there) => {
  while (!there()) {
    if (failed.length) throw failed[0];
    await new Promise((r) => setTimeout(r, 5));
  }
};
const states = () => updates.filter((u) => u.sessionUpdate === "state_update").map((u) => u.state + (u.stopReason ? ":" + u.stopReason : ""));
const texts = (kind) => updates.filter((u) => u.sessionUpdate === kind + "_message_chunk").map((u) => u.content.text).join("");
const calls = () => {
  const all = {};
  for (const u of updates) if (u.sessionUpdate === "tool_call_update") all[u.toolCallId] = { ...all[u.toolCallId], ...u };
  return Object.values(all);
};
const say = (sessionId, text) => call("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
const begin = async () => {
  updates = [];
  asked = [];
  return (await call("session/new", { cwd, mcpServers: [] })).sessionId;
};

const who = await call("initialize", { protocolVersion: 2, info: { name: "tested", version: "1" }, capabilities: { elicitation: { form: {} } } });
assert.equal(who.protocolVersion, 2);
assert.ok(who.capabilities.session.delete && who.capabilities.session.prompt.image);

// An approval: the prompt is acknowledged, the states say how the work goes on, the diff is a patch.
const first = await begin();
const { messageId } = await say(first, "write it");
await until(() => states().includes("idle:end_turn"));
assert.deepEqual(states().filter((s) => s !== "idle"), ["running", "requires_action", "running", "idle:end_turn"]);
assert.equal(updates.find((u) => u.sessionUpdate === "user_message_chunk").messageId, messageId);
assert.equal(readFileSync(join(cwd, "a.txt"), "utf8"), "one\ntwo\n");
const diff = asked[0].subject.toolCall.content.find((c) => c.type === "diff");
assert.deepEqual(diff.changes, [{ operation: "add", path: join(cwd, "a.txt"), fileType: "text" }]);
assert.match(diff.patch.text, /^diff --git a\/.*\nnew file mode 100644\n--- \/dev\/null\n\+\+\+ b\/.*a\.txt\n@@ -0,0 \+1,2 @@\n\+one\n\+two\n$/);
await until(() => updates.some((u) => u.sessionUpdate === "plan_update" && u.plan.entries.length === 2));

// The story again, from its start.
const live = { user: texts("user"), agent: texts("agent") };
updates = [];
await call("session/resume", { sessionId: first, cwd, mcpServers: [], replayFrom: { type: "start" } });
await until(() => states().length > 0); // the library hands updates over after the answer that follows them
assert.deepEqual({ user: texts("user"), agent: texts("agent") }, live);
assert.deepEqual(states(), ["idle"]);

// An approval from three levels below, a question, and no.
const deep = await begin();
await say(deep, "delegate it");
await until(() => states().includes("idle:end_turn"));
assert.equal(asked[0].subject.toolCall.toolCallId.split(".").length, 4);
assert.ok(existsSync(join(cwd, "three")));
await say(await begin(), "ask me");
await until(() => states().includes("idle:end_turn"));
assert.ok(texts("user").includes("blue"));
outcome = "reject_once";
await say(await begin(), "write it");
await until(() => states().includes("idle:end_turn"));
assert.equal(calls()[0].status, "failed");
outcome = "allow_once";

// Said while it works, and a cancellation.
const busy = await begin();
await say(busy, "wait");
await until(() => calls().some((c) => c.status === "in_progress"));
await say(busy, "and this");
await until(() => texts("user").includes("and this"));
await connection.agent.notify("session/cancel", { sessionId: busy });
await until(() => states().includes("idle:cancelled"));

// Settings, the list, ends, mistakes.
const { configOptions } = await call("session/set_config_option", { sessionId: busy, configId: "mode", type: "id", value: "edits" });
assert.equal(configOptions.find((o) => o.configId === "mode").currentValue, "edits");
assert.equal((await call("session/list", { cwd })).sessions.length, 5);
await call("session/close", { sessionId: busy });
await call("session/delete", { sessionId: first });
for (const [method, params, code, field] of [
  ["session/prompt", { sessionId: busy, prompt: [{ type: "text", text: "x" }] }, -32002, "sessionId"],
  ["session/resume", { sessionId: deep, cwd, replayFrom: { type: "end" } }, -32602, "replayFrom.type"],
  ["session/load", { sessionId: deep, cwd, mcpServers: [] }, -32601, undefined],
]) {
  const err = await connection.agent.request(method, params).then(() => assert.fail("it did not fail"), (e) => e);
  assert.equal(err.code, code, err.message);
  assert.equal(err.data?.field, field);
}
if (failed.length) throw failed[0];
assert.ok(checked > 100);
agent.stdin.end();
assert.equal(await new Promise((r) => agent.on("exit", r)), 0);
console.log(`ACP version 2: 5 sessions, approvals at depths 0 and 3, ${checked} messages fit the schema of the draft, 3 errors`);
