import { expect, test } from "vitest";
import { ago, dollars, duration, period, size } from "./format";

test("how long something took", () => {
  const want: [number, string][] = [[0, "0 s"], [-3, "0 s"], [NaN, "0 s"], [0.41, "0.4 s"], [9.94, "9.9 s"], [9.96, "10 s"], [59.6, "1:00"], [72, "1:12"], [3661, "1:01:01"]];
  for (const [seconds, words] of want) expect(duration(seconds)).toBe(words);
});

test("how long ago it was", () => {
  expect(ago(10, "en", "just now")).toBe("just now");
  expect(ago(120, "en", "")).toBe("2 minutes ago");
  expect(ago(60 * 60 * 26, "en", "")).toBe("yesterday");
  expect(ago(120, "zh", "")).toBe("2分钟前");
});

test("amounts and sizes", () => {
  expect([dollars(0), dollars(0.0042), dollars(2)]).toEqual(["$0.00", "$0.0042", "$2.00"]);
  expect([size(999), size(6000), size(12_345), size(1_400_000)]).toEqual(["999 B", "6.0 kB", "12 kB", "1.4 MB"]);
});

test("the part of the list that a time belongs to", () => {
  const now = new Date(2025, 9, 15, 12);
  const at = (days: number, hours = 9) => period(new Date(2025, 9, 15 - days, hours), now);
  expect([at(0), at(1), at(1, 0), at(2), at(6), at(8)]).toEqual(["today", "yesterday", "yesterday", "thisWeek", "thisWeek", "earlierDays"]);
});
