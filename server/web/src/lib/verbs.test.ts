import { doing, stands } from "./doing";
import { expect, test } from "vitest";
import type { Session } from "./api";
import type { Call } from "./events";
import { settings } from "./i18n.svelte";
import { lines, phrase } from "./verbs";

const call = (name: string, input: object, more: Partial<Call> = {}): Call => ({
  kind: "call", seq: 1, id: "c", name, input: JSON.stringify(input), state: "done", question: "", shown: "", by: "", sources: [], began: "", ended: "", live: "", printed: 0, reading: 0, text: "",
  images: [], detail: null, source: "", whole: "", bad: false, picture: "", ...more,
});
const said = (c: Call) => {
  const p = phrase(c);
  return [p.verb, p.object, p.plus !== undefined ? `+${p.plus} -${p.minus}` : p.result ? p.result.word + " " + p.result.n : ""].join("|");
};

test("calls in words", () => {
  const diff = "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-old\n+new\n+more\n";
  const want: [Call, string][] = [
    [call("bash", { command: "npm test\nsecond line" }), "Ran|npm test|"],
    [call("bash", { command: "npm test" }, { state: "running" }), "Running|npm test|"],
    [call("bash", { command: "npm test" }, { state: "asked" }), "Wants to run|npm test|"],
    [call("mcp_things", { query: "x" }, { state: "asked" }), "Wants to use mcp_things|x|"],
    [call("bash", { command: "npm test" }, { bad: true, text: "2 failed\n[exit code 1]" }), "Ran|npm test|exit 1"],
    [call("str_replace_editor", { command: "create", path: "a.md", file_text: "x" }), "Wrote|a.md|"],
    [call("str_replace_editor", { command: "view", path: "a.md" }, { text: "1\n2\n" }), "Read|a.md|lines 2"],
    [call("str_replace_editor", { command: "str_replace", path: "a.md" }, { detail: { diff } }), "Edited|a.md|+2 -1"],
    [call("grep", { pattern: "x+", path: "src" }, { text: "a:1\nb:2" }), "Searched|x+ · src|places 2"],
    [call("browser_use", { action: "go_to_url", url: "https://example.org/" }), "Opened|https://example.org/|"],
    [call("browser_use", { action: "wait" }), "Used the browser|wait|"],
    [call("planning", { command: "create", title: "The report" }), "Planned|The report|"],
    [call("planning", { command: "mark_step" }), "Changed the plan||"],
    [call("use_tool", { name: "apply_patch", arguments: { patch: "*** Begin Patch\n*** Update File: a.go\n" } }), "Edited|a.go|"],
    [call("mcp_things", { query: "x" }), "Used mcp_things|x|"],
    [call("mcp_things", {}, { input: "no JSON" }), "Used mcp_things||"],
  ];
  for (const [c, words] of want) expect(said(c)).toBe(words);
});

test("a tool says what it does, in the language of the page; a session has its words", () => {
  const says = { stock: [{ kind: "finds" as const, words: { en: "count, counting, counted", zh: "清点, 正在清点, 清点了" }, on: ["item"] }] };
  const c = call("stock", { item: "apple", url: "x" }, { says, text: "12" });
  expect(said(c)).toBe("Counted|apple|places 1");
  expect(said({ ...c, state: "asked" })).toBe("Wants to count|apple|");
  expect(said(call("use_tool", { name: "stock", arguments: { item: "pear" } }, { says }))).toBe("Counted|pear|places 0");
  settings.language = "zh";
  expect(said({ ...c, state: "running" })).toBe("正在清点|apple|");
  expect(said({ ...c, state: "asked" })).toBe("想要清点|apple|");
  settings.language = "en";
  expect(said(call("constructor", { item: "x" }, { says }))).toBe("Used constructor||");
  const done = call("planning", { command: "mark_step", step_index: 1, step_status: "completed", step_notes: "12 rows" });
  expect(said(done)).toBe("Finished step 2|12 rows|");
  expect(said(call("delegate", { agent: "swe", task: "Fix it.\nAll." }))).toBe("Gave work to swe|Fix it.|");
});

test("lines of a diff; a line that was taken out may begin with dashes", () => {
  expect(lines("--- a\n+++ b\n@@ -1 +1 @@\n---x\n+y\n")).toEqual({ plus: 1, minus: 1 });
});

test("what a session below does is said in words", () => {
  expect(doing('bash {"command": "npm test", "timeout": 600}')).toBe("Running npm test");
  expect(doing('bash {"command": "echo \\"a\\"; sleep 1 && an end that is cut o')).toBe('Running echo "a"; sleep 1 && an end that is cut o');
  expect(doing("Reading the annex {1}.")).toBe("Reading the annex {1}.");
  const s = { status: "running", doing: 'bash {"command": "npm publish"}' } as Session;
  const asks = (kind: string, question: string) => ({ ...s, waiting: [{ kind, question, call: "c", tool: "bash", input: '{"command": "npm publish"}' }] }) as unknown as Session;
  expect(stands(s)).toBe("Running npm publish");
  expect(stands(asks("ruling", "May bash run this?"))).toBe("Wants to run npm publish");
  expect(stands(asks("text", "Which one?\n- a"))).toBe("Which one?");
  expect(stands({ ...asks("ruling", ""), status: "stopped" })).toBe("Running npm publish");
});
