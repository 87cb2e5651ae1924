import { expect, test } from "vitest";
import { lastLines, plain } from "./output";

test("colours and overwritten lines are left out", () => {
  expect(plain("\x1b[32mok\x1b[0m\r\n10 %\r50 %\r100 %\ndone\r")).toBe("ok\n100 %\ndone");
  expect(plain("\x1b]0;title\x07x\x1b(B")).toBe("x");
});

test("the last lines", () => {
  expect(lastLines("a\nb\nc\n\n", 2)).toBe("b\nc");
  expect(lastLines("", 2)).toBe("");
});
