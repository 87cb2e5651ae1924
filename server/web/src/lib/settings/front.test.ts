import { expect, test } from "vitest";
import { bodyOf, fieldOf, listOf, withBody, withField } from "./front";

const file = '---\n# mine\ndescription: "Reads: all" # shortly\ntools: [bash, grep] # few\nmax_steps: 20\n---\n\nYou review.\n';

test("fields are read however they are written", () => {
  expect(fieldOf(file, "description")).toBe("Reads: all");
  expect(fieldOf("---\ndescription: 'it''s # one'\n---\nx", "description")).toBe("it's # one");
  expect(fieldOf(file, "model")).toBe("");
  expect(listOf(file, "tools")).toEqual(["bash", "grep"]);
  expect(listOf("---\ntools:\n  - bash # why\n  - 'grep'\nmodel: x\n---\nx", "tools")).toEqual(["bash", "grep"]);
  expect(listOf("---\ntools: bash, grep glob\n---\nx", "tools")).toEqual(["bash", "grep", "glob"]);
  expect(bodyOf(file)).toBe("You review.\n");
  expect(bodyOf("You review.")).toBe("You review.");
});

test("a field is changed, and everything else stays", () => {
  expect(withField(file, "description", "Reads")).toBe(file.replace('"Reads: all"', "Reads"));
  expect(withField(file, "tools", ["bash"])).toBe(file.replace("[bash, grep]", "[bash]"));
  expect(withField(file, "max_steps", "")).toBe(file.replace("max_steps: 20\n", ""));
  expect(withField(file, "model", "fast")).toBe(file.replace("max_steps: 20\n", "max_steps: 20\nmodel: fast\n"));
  expect(withField("---\ntools:\n  - bash\n  - grep\nmodel: x\n---\ny", "tools", [])).toBe("---\nmodel: x\n---\ny");
  expect(withField("You review.", "description", "yes")).toBe('---\ndescription: "yes"\n---\nYou review.');
  expect(withBody(file, "You write.\n")).toBe(file.replace("review", "write"));
  for (const odd of ['a: "b" # c', "- x", "#", "it's", "漢字", "[x]", "true", "1.5", "a\nb"]) expect(fieldOf(withField(file, "description", odd), "description"), odd).toBe(odd);
});
