import { expect, test } from "vitest";
import { blocks, type Fold } from "./blocks";
import { apply, empty, type Event } from "./events";

let seq = 0;
const event = (type: string, body: unknown): Event => ({ seq: ++seq, time: new Date(seq * 1000).toISOString(), type, body });
const user = (text: string) => event("user_said", { message: { role: "user", parts: [{ type: "text", text }] } });
const reply = (text: string, ...calls: string[]) =>
  event("model_said", { turn: 0, message: { role: "assistant", parts: [{ type: "text", text }, ...calls.map((id) => ({ type: "call", id, name: "bash", input: "{}" }))] } });

function view(...events: Event[]) {
  const v = empty();
  for (const ev of events) apply(v, ev);
  return v;
}

test("while it runs, calls in a row are one block", () => {
  const v = view(user("Do it"), reply("I look.", "a", "b"), reply("", "c"), reply("Now this.", "d"));
  expect(blocks(v.items, false).map((b) => (b.kind === "calls" ? b.items.length : b.kind))).toEqual(["one", "one", 3, "one", 1]);
});

test("when it is over, what was done folds before the answer", () => {
  const v = view(user("Do it"), reply("I look.", "a", "b"), reply("Done."));
  const all = blocks(v.items, true);
  expect(all.map((b) => b.kind)).toEqual(["one", "fold", "one"]);
  expect((all[1] as Fold).calls.length).toBe(2);
  expect((all[1] as Fold).seconds).toBe(2);
});

test("one call, or no answer, is not folded", () => {
  expect(blocks(view(user("Do it"), reply("", "a"), reply("Done.")).items, true).map((b) => b.kind)).toEqual(["one", "calls", "one"]);
  expect(blocks(view(user("Do it"), reply("", "a", "b")).items, true).map((b) => b.kind)).toEqual(["one", "calls"]);
});

test("a new message folds what was before it", () => {
  const v = view(user("Do it"), reply("", "a", "b"), reply("Done."), user("And this"), reply("", "c", "d"));
  expect(blocks(v.items, false).map((b) => b.kind)).toEqual(["one", "fold", "one", "one", "calls"]);
});

test("what did not change is the same object", () => {
  const v = view(user("Do it"), reply("I look.", "a", "b"));
  const one = blocks(v.items, false);
  apply(v, event("call_started", { call: "b" }));
  const two = blocks(v.items, false, one);
  expect(two[0]).toBe(one[0]);
  expect(two[1]).toBe(one[1]);
  expect(two[2]).not.toBe(one[2]);
});
