import { expect, test } from "vitest";
import { pairsOf, wordsOf } from "./words";

test("a command is words as in a shell", () => {
  expect(wordsOf(`npx  -y 'a b' "c \\" d" e\\ f '' $HOME x'y'z`)).toEqual(["npx", "-y", "a b", 'c " d', "e f", "", "$HOME", "xyz"]);
  expect(wordsOf("  ")).toEqual([]);
});

test("pairs are lines", () => {
  expect(pairsOf("A=1\n\n B = x=y \n")).toEqual({ A: "1", B: "x=y" });
  expect(() => pairsOf("A")).toThrow("A: NAME=VALUE");
});
