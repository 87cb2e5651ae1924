// A person whose task reaches its limit, and lets it go on.
import assert from "node:assert/strict";
import { accessible, link, newPage, over } from "./visit.mjs";

const page = await newPage(link);
await page.getByRole("textbox", { name: "What do you want done?" }).fill("Write two files");
await page.getByRole("button", { name: "How it works, and limits" }).click();
await page.getByRole("spinbutton", { name: "Steps" }).fill("1");
await page.keyboard.press("Escape");
await page.getByRole("button", { name: "What it may do without asking" }).click();
await page.getByRole("radio", { name: "Everything" }).check();
await page.keyboard.press("Escape");
await page.getByRole("button", { name: "Start", exact: true }).click();

// What stopped it is said, and what to do about it.
await page.getByRole("heading", { name: "It has used its 1 step" }).waitFor();
await accessible(page, "a limit");
await page.getByLabel("Another amount").fill("5");
await page.getByRole("button", { name: "Add" }).click();
await page.getByRole("log").getByText("Both are written.").waitFor();
assert.equal(await page.getByRole("heading", { name: /step$/ }).count(), 0);

// The end has weight: both files as cards, and all of them as one archive.
const made = page.getByRole("list", { name: "Files", exact: true });
await made.getByRole("button", { name: "Open one.md" }).waitFor();
const [all] = await Promise.all([page.waitForEvent("download"), made.getByRole("link", { name: "All as zip" }).click()]);
assert.match(all.suggestedFilename(), /\.zip$/);
await page.getByText(/^Done in .*3 model calls/).waitFor();
await over();
