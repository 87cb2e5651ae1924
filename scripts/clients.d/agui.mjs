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
