import { expect, test } from "vitest";
import { Arranged, blocks, type Block, type Fold } from "./blocks";
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

test("a list that grows and changes is arranged as the whole list", () => {
  let random = 1;
  const dice = (n: number) => (random = (random * 48271) % 2147483647) % n;
  const shape = (all: Block[]): unknown[] => all.map((b) => (b.kind === "one" ? b.item : b.kind === "calls" ? b.items : [b.calls, shape(b.blocks)]));
  for (let round = 0; round < 40; round++) {
    const arranged = new Arranged();
    const v = view(user("Do it"));
    let calls = 0;
    for (let i = 0; i < 30; i++) {
      for (let more = dice(3); more >= 0; more--) {
        const what = dice(10);
        if (what === 0) apply(v, user("And this"));
        else if (what < 3) apply(v, reply("Words."));
        else if (what < 6) apply(v, reply(what === 3 ? "I look." : "", "c" + calls++, "c" + calls++));
        else if (what === 6) apply(v, event("rewound", { id: "r", to: 1 + dice(seq), talk: true }));
        else if (calls) apply(v, event("call_started", { call: "c" + dice(calls) }));
      }
      const over = dice(8) === 0;
      expect(shape(arranged.of([...v.items], over))).toEqual(shape(blocks([...v.items], over)));
    }
  }
}, 60_000);

test("of a list that grows, the beginning is not arranged again", () => {
  const v = view(user("Do it"), reply("I look.", "a", "b"), reply("Then this."), reply("", "c"));
  const arranged = new Arranged();
  const one = arranged.of([...v.items], false);
  apply(v, event("call_started", { call: "c" }));
  const two = arranged.of([...v.items], false);
  expect(two.slice(0, -1)).toEqual(one.slice(0, -1));
  for (let i = 0; i < one.length - 1; i++) expect(two[i]).toBe(one[i]);
  expect(two.at(-1)).not.toBe(one.at(-1));
});
