import { expect, test } from "vitest";
import { unmarked, prose, visible } from "./visible";

test("characters that hide or turn are shown", () => {
  expect(visible("a\u202egnp.exe")).toBe("a\\u202egnp.exe");
  expect(visible("a\u200bb\u00a0c\x1b[0m\tx\n")).toBe("a\\u200bb\\u00a0c\\x1b[0m\tx\n");
  expect(visible("\u{e0041}")).toBe("\\U000e0041");
});

test("prose keeps what languages need", () => {
  expect(prose("❤️ 👩‍💻 می‌خواهم 10\u00a0%")).toBe("❤️ 👩‍💻 می‌خواهم 10\u00a0%");
  expect(prose("a\u202eb\u2066c\u200bd")).toBe("a\\u202eb\\u2066c\\u200bd");
});

test("one line of Markdown as plain words", () => {
  for (const [line, want] of [
    ["Which **one** of `a*b`?", "Which one of a*b?"], ["## Really *now*?", "Really now?"], ["2 * 3 * 4", "2 * 3 * 4"], ["snake_case_name", "snake_case_name"], ["**", "**"], ["(_yes_)", "(yes)"],
  ])
    expect(unmarked(line!), line).toBe(want);
});
