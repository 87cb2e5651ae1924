import { expect, test } from "vitest";
import { dueOf, weekdays, type Times } from "./times";

test("times as the server takes them", () => {
  const at = (t: Partial<Times>) => dueOf({ often: "daily", time: "09:05", weekday: "5", date: "2026-12-24", cron: " */5 * * * * ", ...t });
  expect(at({})).toEqual({ cron: "5 9 * * *" });
  expect(at({ often: "weekdays" })).toEqual({ cron: "5 9 * * 1-5" });
  expect(at({ often: "weekly" })).toEqual({ cron: "5 9 * * 5" });
  expect(at({ often: "once" })).toEqual({ at: "2026-12-24T09:05" });
  expect(at({ often: "cron" })).toEqual({ cron: "*/5 * * * *" });
});

test("the week begins on Monday, and Sunday is 0", () => {
  const days = weekdays("en");
  expect(days.map((d) => d.number + d.name[0] + d.name[1]).join(" ")).toBe("1Mo 2Tu 3We 4Th 5Fr 6Sa 0Su");
});
