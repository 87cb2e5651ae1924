import { expect, test } from "vitest";
import { attach, withoutNote } from "./files";

test("the note about files is told from what the person wrote", () => {
  expect(withoutNote("Look\n\nFiles in the workspace for this: a.csv, b.png")).toEqual({ words: "Look", names: ["a.csv", "b.png"] });
  const own = "Files in the workspace for this: x\n\nFiles in the workspace for this: y\nand more";
  expect(withoutNote(own)).toEqual({ words: own, names: [] });
});

test("a message that is said again brings what it brought", async () => {
  const brought = { names: ["a.csv", "b.png"], images: [{ mime: "image/png", name: "b.png", data: "AA==" }] };
  const { attachments, note } = await attach("s", [], brought);
  expect(attachments).toEqual(brought.images);
  expect(withoutNote("Look" + note)).toEqual({ words: "Look", names: brought.names });
});
