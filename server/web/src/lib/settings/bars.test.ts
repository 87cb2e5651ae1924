import { expect, test } from "vitest";
import { ceiling, daysOf, jump, mostOf } from "./bars";

test("days without use stand there as well", () => {
  const days = daysOf([{ name: "2026-03-01", cost_usd: 2 }, { name: "2026-02-27", cost_usd: null }], 3, new Date("2026-03-01T12:00:00Z"));
  expect(days).toEqual([{ day: "2026-02-27", cost: 0 }, { day: "2026-02-28", cost: 0 }, { day: "2026-03-01", cost: 2 }]);
});

test("the axis ends at a round number", () => {
  expect([0, 0.03, 6.3, 20, 480].map(ceiling)).toEqual([1, 0.05, 10, 20, 500]);
});

test("a jump in cost is a day unlike the others", () => {
  const days = (costs: number[]) => costs.map((cost, i) => ({ day: "d" + i, cost }));
  expect(jump(days([1, 1, 1, 9, 1]))).toEqual({ day: "d3", cost: 9 });
  expect(jump(days([1, 2, 1, 2]))).toBe(null);
  expect(jump(days([1, 50]))).toBe(null);
});

test("what a day's cost came from", () => {
  const from = [{ name: "a", cost_usd: 9 }, { name: "b", cost_usd: 7 }, { name: "c", cost_usd: null }];
  expect(mostOf(from, [{ name: "a", cost_usd: 8 }])).toEqual({ name: "b", cost: 7 });
  expect(mostOf([{ name: "c", cost_usd: null }], [])).toBe(null);
});
