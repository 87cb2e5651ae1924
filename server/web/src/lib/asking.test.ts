import { expect, test } from "vitest";
import type { Waiting } from "./api";
import { why, listed, exact, headline, parsed, pretty, risks } from "./asking";

const asked = (tool: string, input: unknown): Waiting => ({ session: "s", call: "c", tool, kind: "ruling", question: "?", input: typeof input === "string" ? input : JSON.stringify(input) });

test("what would run stands first, verbatim", () => {
  expect(exact(asked("bash", { command: "ls -l\npwd" }))).toBe("ls -l\npwd");
  expect(exact(asked("bash", { command: "ls", timeout: 5 }))).toBe('ls\n\n{\n  "timeout": 5\n}');
  expect(exact(asked("python_execute", { code: "print(1)", command: "x" }))).toBe('print(1)\n\n{\n  "command": "x"\n}');
  expect(exact(asked("str_replace_editor", { command: "create" }))).toBe('{\n  "command": "create"\n}');
  expect(exact(asked("bash", "no JSON"))).toBe("no JSON");
  expect(exact(asked("bash", "[1]"))).toBe("[\n  1\n]");
});

test("the question", () => {
  const word = (tool: string, input: unknown) => headline(asked(tool, input)).word;
  expect(word("bash", {})).toBe("ask_run");
  expect(word("str_replace_editor", { path: "a" })).toBe("ask_edit");
  expect(word("browser_use", { url: "https://example.org" })).toBe("ask_open");
  expect(word("mcp_x", {})).toBe("ask_use");
  expect(headline(asked("file_saver", { file_path: "a\u202eb" })).fill["file"]).toBe("a\\u202eb");
});

test("risky parts are marked, and nothing is lost", () => {
  const text = "git push --force origin main && rm -rf build; echo ok \\u202e";
  const parts = risks(text);
  expect(parts.map((p) => p.text).join("")).toBe(text);
  expect(parts.filter((p) => p.risk).map((p) => p.text)).toEqual(["git push", "--force", "rm -rf", "\\u202e"]);
  expect(risks("")).toEqual([]);
});

test("arguments that are no JSON", () => {
  expect("error" in parsed("{")).toBe(true);
  expect(pretty("{")).toBe("{");
});

test("a list at the end of a question is its choices", () => {
  expect(listed("Which folder?\n\n- `src`\n- **docs**\n")).toEqual({ text: "Which folder?", choices: ["src", "docs"] });
  expect(listed("Which?\n1. One\n2) Two").choices).toEqual(["One", "Two"]);
  expect(listed("Which folder?").choices).toEqual([]);
  expect(listed("I saw\n- a\n- b\n\nWhat now?").choices).toEqual([]);
  expect(listed("- a\n- b").choices).toEqual([]);
});

test("the gate's question is said in the words of the page", () => {
  expect(why("May bash run, outside a sandbox?")).toEqual({ word: "why_run_out", fill: { tool: "bash", what: "" }, rest: "" });
  expect(why("May web_fetch go to a.org, b.org? It was read in c.md.")).toEqual({ word: "why_go", fill: { tool: "web_fetch", what: "a.org, b.org" }, rest: "It was read in c.md." });
  expect(why("May edit change a.txt, b.txt?")?.word).toBe("why_change");
  expect(why("May edit change .git/config, from which programs outside the sandbox take orders?")).toMatchObject({ word: "why_orders", fill: { what: ".git/config" } });
  expect(why("Who are you?")).toBeNull();
});
