import { expect, test } from "vitest";
import type { Call } from "./events";
import { lines, phrase } from "./verbs";

const call = (name: string, input: object, more: Partial<Call> = {}): Call => ({
  kind: "call", seq: 1, id: "c", name, input: JSON.stringify(input), state: "done", question: "", shown: "", by: "", sources: [], began: "", ended: "", live: "", text: "",
  images: [], detail: null, source: "", whole: "", bad: false, picture: "", ...more,
});
const said = (c: Call) => {
  const p = phrase(c);
  return [p.verb, p.object, p.plus !== undefined ? `+${p.plus} -${p.minus}` : p.result ? p.result.word + " " + p.result.n : ""].join("|");
};

test("calls in words", () => {
  const diff = "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-old\n+new\n+more\n";
  const want: [Call, string][] = [
    [call("bash", { command: "npm test\nsecond line" }), "ran|npm test|"],
    [call("bash", { command: "npm test" }, { state: "running" }), "running_|npm test|"],
    [call("bash", { command: "npm test" }, { state: "asked" }), "wants_run|npm test|"],
    [call("mcp_things", { query: "x" }, { state: "asked" }), "wants_use|x|"],
    [call("bash", { command: "npm test" }, { bad: true, text: "2 failed\n[exit code 1]" }), "ran|npm test|exit 1"],
    [call("str_replace_editor", { command: "create", path: "a.md", file_text: "x" }), "wrote|a.md|"],
    [call("str_replace_editor", { command: "view", path: "a.md" }, { text: "1\n2\n" }), "readIt|a.md|lines 2"],
    [call("str_replace_editor", { command: "str_replace", path: "a.md" }, { detail: { diff } }), "edited|a.md|+2 -1"],
    [call("grep", { pattern: "x+", path: "src" }, { text: "a:1\nb:2" }), "searched|x+ · src|places 2"],
    [call("browser_use", { action: "go_to_url", url: "https://example.org/" }), "opened|https://example.org/|"],
    [call("browser_use", { action: "wait" }), "usedBrowser|wait|"],
    [call("planning", { command: "create", title: "The report" }), "planned_|The report|"],
    [call("planning", { command: "mark_step" }), "markedPlan||"],
    [call("use_tool", { name: "apply_patch", arguments: { patch: "*** Begin Patch\n*** Update File: a.go\n" } }), "edited|a.go|"],
    [call("mcp_things", { query: "x" }), "used|x|"],
    [call("mcp_things", {}, { input: "no JSON" }), "used||"],
  ];
  for (const [c, words] of want) expect(said(c)).toBe(words);
});

test("lines of a diff; a line that was taken out may begin with dashes", () => {
  expect(lines("--- a\n+++ b\n@@ -1 +1 @@\n---x\n+y\n")).toEqual({ plus: 1, minus: 1 });
});
