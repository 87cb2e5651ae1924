import { expect, test } from "vitest";
import { empty, type Call, type View } from "./events";
import { next } from "./next";

const call = (to: Partial<Call>): Call => ({ kind: "call", seq: 1, id: "c", name: "bash", input: '{"command":"npm test"}', state: "done", text: "", detail: null, bad: false, ...to }) as Call;
const view = (to: Partial<View>): View => ({ ...empty(), ...to });
const words = (v: View) => next(v).map((n) => n.word);

test("nothing is suggested where nothing follows", () => {
  expect(next(empty())).toEqual([]);
  expect(words(view({ items: [call({})] }))).toEqual([]);
});

test("a failure that was not made good comes first", () => {
  expect(next(view({ items: [call({ bad: true })] }))[0]).toMatchObject({ word: "next_failed", fill: { what: "npm test" } });
  expect(words(view({ items: [call({ bad: true }), call({})] }))).toEqual([]);
  expect(words(view({ items: [call({ state: "denied" })] }))).toEqual(["next_denied"]);
});

test("open steps of the plan, and files that were made", () => {
  const v = view({ plan: { id: "p", title: "", steps: [{ text: "a", status: "completed" }, { text: "b", status: "blocked" }] } });
  v.round.files = ["data.bin", "out/report.md"];
  expect(next(v)).toMatchObject([{ word: "next_steps", fill: { n: 1 } }, { word: "next_open", file: "out/report.md" }]);
});
