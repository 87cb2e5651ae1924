import { expect, test } from "vitest";
import type { Waiting } from "./api";
import { exact, headline, parsed, pretty, risks } from "./asking";

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
