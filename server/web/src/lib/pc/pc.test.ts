import { Terminal } from "@xterm/headless";
import { describe, expect, test } from "vitest";
import type { Call, Event, Item } from "../events";
import { sortOf } from "../filetype";
import { fileURL } from "./api";
import { rowsOf } from "./diff";
import { rest } from "./drag";
import { entriesOf } from "./folders";
import { hasSource, kindOf } from "./kinds";
import { pace, thin, Track } from "./marks";
import { notebookOf } from "./notebook";
import { compact, inputOf, placeIn } from "./point";
import { numeric, separatorOf, tableOf, withHeads } from "./table";
import { controls, Emulation, plainLines, type Line } from "./terminal";
import { callsOf, current, drawnBy, pathOf, tabOf } from "./work";

const call = (name: string, input: object, more: Partial<Call> = {}) =>
  ({ kind: "call", id: name, name, input: JSON.stringify(input), state: "done", began: "t", detail: null, ...more }) as Call;

describe("which tab shows a call", () => {
  test("by its tool", () => {
    expect(tabOf(call("bash", {}))).toBe("terminal");
    expect(tabOf(call("browser_use", {}))).toBe("browser");
    expect(tabOf(call("ask_human", {}))).toBe(null);
    expect(tabOf(call("use_tool", { name: "browser_use" }))).toBe("browser");
    expect(tabOf(call("something_new", { path: "a.md" }))).toBe("editor");
    expect(tabOf(call("something_new", { x: 1 }))).toBe("terminal");
  });
  test("the newest that runs, else the newest that ran; a question does not hide it", () => {
    const items: Item[] = [call("bash", {}), call("browser_use", {}, { state: "running" }), call("str_replace_editor", {}, { state: "open" }), call("ask_human", {})];
    expect(current(items)?.name).toBe("browser_use");
    items[1] = call("browser_use", {}, { state: "denied" });
    expect(current(items)?.name).toBe("bash");
    expect(current([])).toBe(null);
    expect(callsOf(items, "terminal", 5).map((c) => c.name)).toEqual(["bash"]);
  });
  test("what it drew", () => {
    const charts = [{ chart: "v/a.svg" }, { chart: "v/b.html" }, { error: "no data" }];
    expect(drawnBy(call("data_visualization", {}, { detail: charts }))).toBe("v/a.svg");
    expect(drawnBy(call("data_visualization", {}, { detail: charts.slice(1) }))).toBe("v/b.html");
    expect(drawnBy(call("data_report", {}, { detail: { files: ["r.md", "r.pdf"] } }))).toBe("r.pdf");
    expect(drawnBy(call("data_visualization", {}, { detail: charts, state: "running" }))).toBe(null);
    expect(drawnBy(call("data_visualization", {}))).toBe(null);
    expect(drawnBy(call("bash", {}, { detail: charts }))).toBe(null);
  });
  test("the file", () => {
    expect(pathOf(call("x", { file_path: "b" }))).toBe("b");
    expect(pathOf(call("x", {}, { detail: { files: ["c.svg"] } }))).toBe("c.svg");
    expect(pathOf({ ...call("x", {}), input: "{" })).toBe("");
  });
});

const words = (lines: Line[]) => lines.map((l) => l.map((p) => p.text).join(""));

describe("a terminal", () => {
  const show = (text: string) => new Emulation(Terminal).show(text);
  test("colours, and nothing of the codes", async () => {
    const lines = await show("\x1b[32mok\x1b[0m and \x1b[1;38;2;1;2;3mbold\x1b[0m \x1b[7minverse\x1b[0m\x1b]0;title\x07\n");
    expect(words(lines)).toEqual(["ok and bold inverse"]);
    expect(lines[0]![0]).toEqual({ text: "ok", look: "ink-2" });
    expect(lines[0]![2]).toEqual({ text: "bold", look: "bold", ink: "#010203" });
    expect(lines[0]![4]!.look).toBe("ink-ground bg-paper");
  });
  test("carriage returns, cleared screens, moved cursors", async () => {
    expect(words(await show("10%\r50%\r100%\ndone\n"))).toEqual(["100%", "done"]);
    expect(words(await show("old\x1b[2J\x1b[Hnew"))).toContain("new");
    expect(words(await show("a\nb\n\x1b[2AX"))).toEqual(["X", "b"]);
  });
  test("wide characters, long lines, pieces of codes", async () => {
    expect(words(await show("漢字 ok"))).toEqual(["漢字 ok"]);
    expect(words(await show("x".repeat(400)))).toEqual(["x".repeat(400)]);
    const e = new Emulation(Terminal);
    await e.show("a\x1b[3");
    expect(await e.show("a\x1b[31mb")).toEqual([[{ text: "a", look: "" }, { text: "b", look: "ink-1" }]]);
    expect(words(await e.show("other"))).toEqual(["other"]);
    const long = Array.from({ length: 200 }, (_, i) => "line " + i + "\r\n").join("");
    let last: Line[] = [];
    for (let i = 0; i < long.length; i += 97) last = await e.show(long.slice(0, i + 97));
    expect(words(last)).toEqual(long.trimEnd().split("\r\n"));
    const wide = "y".repeat(500) + "\n";
    for (let i = 1; i <= 30; i++) last = await e.show(wide.repeat(i));
    expect(words(last)).toEqual(Array.from({ length: 30 }, () => "y".repeat(500)));
  });
  test("text without codes needs none", () => {
    expect(controls("a\n\tb")).toBe(false);
    expect(controls("a\rb")).toBe(true);
    expect(words(plainLines("<img src=x>\nb\n"))).toEqual(["<img src=x>", "b"]);
  });
});

test("a diff has numbers, and marks the words", () => {
  const rows = rowsOf("--- a/x\n+++ b/x\n@@ -3,3 +3,3 @@ fn\n same\n-the old value\n+the new value\n--- not a head\n");
  expect(rows.map((r) => [r.kind, r.old, r.new])).toEqual([
    ["hunk", undefined, undefined], ["same", 3, 3], ["minus", 4, undefined], ["plus", undefined, 4], ["minus", 5, undefined],
  ]);
  expect(rows[2]!.changed).toEqual([4, 7]);
  expect(rows[4]!.text).toBe("-- not a head");
  expect(rowsOf("")).toEqual([{ kind: "head", text: "" }]);
});

describe("tables", () => {
  test("separators and quotes", () => {
    expect(separatorOf('a;"b,c";d\n1;2;3')).toBe(";");
    expect(tableOf('a,b\n"x ""y""\nz",2\n\n3', 10)).toEqual({ head: ["a", "b"], rows: [['x "y"\nz', "2"], ["3"]], more: false });
  });
  test("of many rows the first", () => {
    const t = tableOf("n\n" + Array.from({ length: 9 }, (_, i) => i).join("\n"), 3);
    expect(t.rows.length).toBe(3);
    expect(t.more).toBe(true);
  });
  test("numbers stand at the right", () => {
    expect(numeric([["1,234.5"], ["-3 %"]], 0)).toBe(true);
    expect(numeric([["2025-06"], ["1"]], 0)).toBe(false);
    expect(numeric([[""]], 0)).toBe(false);
  });
});

test("kinds of files", () => {
  expect(kindOf("a/b.MD")).toBe("markdown");
  expect(kindOf("Makefile")).toBe("text");
  expect(kindOf("a.d/x")).toBe("text");
  expect(kindOf("x.docx")).toBe("office");
  expect(hasSource("x.svg")).toBe(true);
  expect(sortOf("x.xlsx").icon).toBe("file-spreadsheet");
});

test("folders", () => {
  const files = ["b.md", "a/x.md", "a/c/y.md", "a b.txt"].map((path) => ({ path, bytes: 2, modified: "" }));
  expect(entriesOf(files, "").map((e) => [e.path, e.files, e.bytes])).toEqual([["a", 2, 4], ["a b.txt", 0, 2], ["b.md", 0, 2]]);
  expect(entriesOf(files, "a").map((e) => e.path)).toEqual(["a/c", "a/x.md"]);
});

describe("the slider", () => {
  const ev = (seq: number, type: string, body: object = {}) => ({ seq, time: "", type, body }) as Event;
  const plan = (step: string) => ({ detail: { active: "p", plans: [{ id: "p", steps: [{ text: step, status: "in_progress" }] }] } });
  const events = [
    ev(1, "opened"), ev(2, "user_said"), ev(3, "call_done", { call: "a", ...plan("Look") }), ev(4, "asked", { call: "b" }), ev(5, "call_done", { call: "b", is_error: true }),
    ev(6, "call_done", { call: "c", detail: { diff: "+x" } }), ev(7, "call_done", { call: "d", ...plan("Write") }), ev(8, "ended"),
  ];
  const track = new Track();
  test("marks", () => {
    expect(track.read(events).marks.map((m) => m.seq + m.kind)).toEqual(["2me", "3tick", "5err", "6edit", "7tick"]);
    expect(thin(track.marks, 1, 8, 1).map((m) => m.kind)).toEqual(["me", "err"]);
  });
  test("chapters", () => {
    track.read(events);
    expect(track.chapters(1, 8)).toEqual([{ from: 1, to: 3, title: "" }, { from: 3, to: 7, title: "Look" }, { from: 7, to: 8, title: "Write" }]);
    expect(new Track().read([]).chapters(1, 1)).toEqual([{ from: 1, to: 1, title: "" }]);
  });
  test("events that come one by one are marked as all at once", () => {
    const growing: Event[] = [];
    const track = new Track();
    for (const e of events) {
      growing.push(e);
      expect(track.read(growing).marks).toEqual(new Track().read([...growing]).marks);
      expect(track.chapters(1, e.seq)).toEqual(new Track().read([...growing]).chapters(1, e.seq));
    }
    expect(track.read(events.slice(0, 2)).marks.length).toBe(1);
  });
  test("long pauses are short", () => {
    expect(pace("2026-01-01T00:00:00Z", "2026-01-01T09:00:00Z", 1)).toBe(2000);
    expect(pace("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", 4)).toBe(150);
  });
});

test("a notebook", () => {
  const book = { metadata: {}, cells: [
    { cell_type: "markdown", source: ["# A\n", "b"] },
    { cell_type: "code", source: "1", outputs: [{ text: ["out"] }, { data: { "image/png": 'aGk="onerror' } }, { data: { "text/html": "<script>", "text/plain": "plain" } }] },
  ] };
  const got = notebookOf(JSON.stringify(book));
  expect(got.cells[0]).toEqual({ kind: "markdown", source: "# A\nb", text: "", images: [] });
  expect(got.cells[1]).toEqual({ kind: "code", source: "1", text: "out\nplain\n", images: [{ mime: "image/png", data: "aGk=onerror" }] });
  expect(() => notebookOf("{}")).toThrow();
});

describe("what a person does in the browser", () => {
  test("where", () => {
    expect(placeIn({ left: 10, top: 20, width: 640, height: 450 }, 330, 245, 1280, 900)).toEqual({ x: 640, y: 450 });
    expect(placeIn({ left: 0, top: 0, width: 0, height: 0 }, -5, 9e9, 1280, 900)).toEqual({ x: 0, y: 899 });
  });
  const key = (key: string, more = {}) => inputOf({ key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...more });
  test("which key", () => {
    expect(key("a")).toEqual({ kind: "text", text: "a" });
    expect(key("A", { metaKey: true })).toEqual({ kind: "key", key: "Control+a" });
    expect(key("Tab", { shiftKey: true })).toEqual({ kind: "key", key: "Shift+Tab" });
    expect(key("Shift", { shiftKey: true })).toBe(null);
    expect(key("é")).toEqual({ kind: "text", text: "é" });
  });
  test("many become few", () => {
    expect(compact([{ kind: "move", x: 1 }, { kind: "move", x: 2 }, { kind: "text", text: "a" }, { kind: "text", text: "b" }, { kind: "wheel", dy: 1 }, { kind: "wheel", dy: 2 }])).toEqual([
      { kind: "move", x: 2 }, { kind: "text", text: "ab" }, { kind: "wheel", dy: 3, dx: 0 },
    ]);
  });
});

test("a sheet that is let go comes to rest where it was going", () => {
  expect([60, 400, 700].map((h) => rest(h, 844, 0))).toEqual(["closed", "open", "full"]);
  expect(rest(450, 844, 1.5)).toBe("full");
  expect(rest(450, 844, -2)).toBe("closed");
});

test("files of the past have addresses of their own", () => {
  expect(fileURL("s 1", "a b/c#.md", null)).toBe("api/v1/sessions/s%201/files/a%20b%2Fc%23.md");
  expect(fileURL("s", "a", 7, true)).toBe("api/v1/sessions/s/past/a?at=7&inline=true");
  expect(kindOf("a.XLSX")).toBe("office");
});

test("rows between bars become a table", () => {
  expect(withHeads("A\n\n| a | b |\n| 1 | x \\| y |\n\nB")).toBe("A\n\n| a | b |\n| --- | --- |\n| 1 | x \\| y |\n\nB");
  const whole = "| a |\n| --- |\n| 1 |";
  expect(withHeads(whole)).toBe(whole);
});
