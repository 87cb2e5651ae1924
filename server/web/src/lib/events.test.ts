import { expect, test } from "vitest";
import { apply, empty, upTo, type Event, type View } from "./events";

let seq = 0;
const event = (type: string, body: unknown): Event => ({ seq: ++seq, time: new Date(seq * 1000).toISOString(), type, body });
const user = (text: string) => event("user_said", { message: { role: "user", parts: [{ type: "text", text }] } });
const reply = (text: string) => event("model_said", { turn: 0, message: { role: "assistant", parts: [{ type: "text", text }] } });
const wrote = (call: string, path: string) => [
  event("model_said", { turn: 0, message: { role: "assistant", parts: [{ type: "call", id: call, name: "bash", input: "{}" }] } }),
  event("call_done", { call, parts: [], files: [{ path, change: "created", bytes: 1 }] }),
];
const back = (to: number, more: object = {}) => event("rewound", { id: "r" + seq, to, files: true, talk: true, changes: [{ path: "a", change: "deleted" }], ...more });
const texts = (v: View) => v.items.map((i) => (i.kind === "call" ? i.id : i.kind === "note" ? "back" : i.text));

test("going back takes messages and changes of files away, and redo brings them", () => {
  seq = 0;
  const events = [user("one"), ...wrote("c1", "a"), reply("did"), user("two"), ...wrote("c2", "b"), reply("done"), back(4)];
  const v = upTo(events, 99);
  expect(texts(v)).toEqual(["one", "c1", "did", "back"]);
  expect(v.changes.map((c) => c.path)).toEqual(["a"]);
  expect(v.halted).toBe(true);
  apply(v, event("rewound", { id: "r2", to: 8, redo: "r8", files: true, talk: true }));
  expect(texts(v)).toEqual(["one", "c1", "did", "two", "c2", "done", "back"]);
  expect(v.changes.map((c) => c.path)).toEqual(["a", "b"]);
});

test("what was left by going back can be reached again after something else was said", () => {
  seq = 0;
  const v = upTo([user("one"), reply("A"), user("two"), reply("B"), back(2), user("three"), reply("C"), back(4)], 99);
  expect(texts(v)).toEqual(["one", "A", "two", "B", "back"]);
});

test("going back with the files alone leaves what was said", () => {
  seq = 0;
  const v = upTo([user("one"), ...wrote("c1", "a"), reply("did"), back(1, { talk: false })], 99);
  expect(texts(v)).toEqual(["one", "c1", "did", "back"]);
  expect(v.changes).toEqual([]);
  expect(empty().moments).toEqual([]);
});

test("what a call printed before one looks comes once, whatever connects again", () => {
  seq = 0;
  const v = upTo([...wrote("c1", "a").slice(0, 1), event("call_started", { call: "c1", attempt: 1 })], 99);
  const print = (at: number, text: string) => apply(v, { seq: 0, time: "", type: "output", body: { call: "c1", at, text } });
  print(100, "é1\n");
  print(104, "2\n");
  print(100, "é1\n2\n3"); // connected again
  print(107, "4");
  print(90, "old");
  expect(v.calls.get("c1")!.live).toBe("é1\n2\n34");
  apply(v, event("call_started", { call: "c1", attempt: 2 }));
  apply(v, { seq: 0, time: "", type: "output", body: { call: "c1", text: "anew" } });
  expect(v.calls.get("c1")!.live).toBe("anew");
});

test("how much of a prompt was read is told until words come", () => {
  const v = upTo([user("one")], 99);
  const typed = (body: object) => apply(v, { seq: 0, time: "", type: "typing", body: { turn: v.turn, part: 0, ...body } });
  typed({ read: 44 });
  expect(v.typing).toMatchObject({ read: 44, text: "" });
  typed({ parts: [{ type: "text", text: "Yes" }] });
  expect(v.typing).toMatchObject({ read: undefined, text: "Yes" });
});

test("every event that says something is told, also one of a newer version", () => {
  seq = 0;
  const v = upTo([
    event("opened", {}), event("configured", { model: "a" }), user("one"), event("softened", { refused: "no pictures" }), event("elided", { calls: [{}] }),
    event("taken", {}), event("mode_set", { mode: "edits" }), event("titled", { title: "t" }), event("snapped", {}), event("compacted", {}),
    event("resumed", {}), event("configured", { n: 1, model: "b" }), event("telepathy", { thought: "x" }),
  ], 99);
  expect(v.items.flatMap((i) => (i.kind === "note" ? [i.word] : []))).toEqual([
    "softened", "elided", "takenOver", "modeSet", "compacted", "resumedHere", "fromHereOn", "newerEvent",
  ]);
});
