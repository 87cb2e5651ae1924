// The client of AG-UI: a task with an approval in it, and everything that our own tests
// have made of journals (AGUI_STREAMS, one journal in a line) through its verifier.
import { HttpAgent, verifyEvents } from "@ag-ui/client";
import { EventSchemas } from "@ag-ui/core/schemas";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { from, lastValueFrom, toArray } from "rxjs";

let checks = 0;
function check(ok, what) {
  if (!ok) throw new Error(JSON.stringify(what));
  checks++;
}

// A task: the agent asks for approval, and the next run answers.
const headers = { Authorization: `Bearer ${process.env.OPENMANUS_TOKEN}` };
const agent = new HttpAgent({ url: process.env.OPENMANUS_URL + "/api/v1/agui", headers, threadId: "agui-client" });
agent.messages = [{ id: "m1", role: "user", content: "please touch a file" }];
let end, text = "", calls = 0, results = 0;
const seen = {
  onRunFinishedEvent: ({ event }) => { end = event; },
  onTextMessageContentEvent: ({ event }) => { text += event.delta; },
  onToolCallEndEvent: () => { calls++; },
  onToolCallResultEvent: () => { results++; },
};
await agent.runAgent({ runId: "r1", forwardedProps: { approve: "ask" } }, seen);
check(end?.outcome?.type === "interrupt" && calls === 1, end);
const [interrupt] = end.outcome.interrupts;
check(interrupt.reason === "approval" && interrupt.toolCallId, interrupt);
await agent.runAgent({ runId: "r2", resume: [{ interruptId: interrupt.id, status: "resolved", payload: { approved: true } }] }, seen);
check(end.outcome.type === "success" && results === 1 && text.includes("The file is there."), [end, text]);
check(agent.state.status === "finished", agent.state);

// Tools of the page: the run ends with their calls, and the next one brings the results.
const tools = [{ name: "get_weather", description: "Asks the page for the weather.", parameters: { type: "object", properties: { city: { type: "string" } } } }];
const page = new HttpAgent({ url: process.env.OPENMANUS_URL + "/api/v1/agui", headers, threadId: "agui-tools" });
page.messages = [{ id: "w1", role: "user", content: "how is the weather?" }];
await page.runAgent({ runId: "w1", tools }, seen);
const asked = page.messages.at(-1).toolCalls;
check(end.outcome.type === "success" && end.result === undefined && asked?.length === 2, [end, page.messages]);
for (const c of asked) {
  check(c.function.name === "get_weather" && JSON.parse(c.function.arguments).city, c);
  page.addMessage({ id: "got-" + c.id, role: "tool", toolCallId: c.id, content: "21 degrees" });
}
await page.runAgent({ runId: "w2", tools }, seen);
check(end.outcome.type === "success" && end.result === "It is warm: two results came back.", end);
check(page.messages.filter((m) => m.role === "tool").length === 2, page.messages);
for (const [name, why] of [["bash", "already"], ["no spaces", "no name of a tool"]]) {
  const bad = new HttpAgent({ url: page.url, headers, threadId: "agui-bad-" + name });
  bad.messages = page.messages.slice(0, 1);
  const failed = await bad.runAgent({ tools: [{ name, description: "x", parameters: {} }] }).then(() => "", (e) => e.message + JSON.stringify(e.payload ?? ""));
  check(failed.includes("tools") && failed.includes(why), failed);
}

// Journals: golden ones and 10,000 made-up ones.
let streams = 0, events = 0;
const file = process.env.AGUI_STREAMS;
if (file) {
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const all = JSON.parse(line);
    const passed = await lastValueFrom(from(all).pipe(verifyEvents(false), toArray()));
    check(passed.length === all.length, line.slice(0, 300));
    for (const e of all) EventSchemas.parse(e);
    const last = all.at(-1).type; // the verifier takes a stream that breaks off
    check(last === "RUN_FINISHED" || last === "RUN_ERROR", last);
    streams++, events += all.length;
  }
}
console.log(`@ag-ui/client: ${checks} checks, ${streams} journals, ${events} events`);
