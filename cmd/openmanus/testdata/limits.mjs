// A person whose task reaches its limit, lets it go on, goes back, and thinks again.
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
await page.getByLabel("Another amount").fill("5");
await page.getByRole("button", { name: "Add" }).click();
await page.getByRole("log").getByText("Both are written.").waitFor();
await page.getByRole("heading", { name: /step$/ }).waitFor({ state: "detached" });

// The end has weight: both files as cards, and all of them as one archive.
const made = page.getByRole("list", { name: "Files", exact: true });
await made.getByRole("button", { name: "Open one.md" }).waitFor();
const [all] = await Promise.all([page.waitForEvent("download"), made.getByRole("link", { name: "All as zip" }).click()]);
assert.match(all.suggestedFilename(), /\.zip$/);
await page.getByText(/^Done in .*3 model calls/).waitFor();

// Going back: what changes is listed before it is done, and redo brings it again.
await page.locator("article.user").hover();
await page.locator("article.user").getByRole("button", { name: "Go back" }).click();
const dialog = page.getByRole("dialog");
await dialog.getByRole("heading", { name: "2 files change" }).waitFor();
await accessible(page, "going back");
await dialog.getByRole("button", { name: "Go back here" }).click();
await page.getByText("You went back to here").waitFor();
const message = page.getByRole("textbox", { name: "Message" });
await page.waitForFunction(() => document.querySelector("textarea").value === "Write two files");
await made.waitFor({ state: "detached" });
await message.fill("");
await page.getByRole("button", { name: "Redo" }).click();
await dialog.getByRole("button", { name: "Redo" }).click();
await page.getByRole("log").getByText("Both are written.").waitFor();
await made.getByRole("button", { name: "Open two.md" }).waitFor();

// Saying the same again goes back first, and leaves one message.
await page.locator("article.user").hover();
await page.locator("article.user").getByRole("button", { name: "Retry" }).click();
await dialog.getByRole("button", { name: "Go back and send" }).click();
await dialog.waitFor({ state: "hidden" });
await page.getByText("You went back to here").last().waitFor();
await page.locator("article.user", { hasText: "Write two files" }).waitFor();
await page.waitForFunction(() => document.querySelectorAll("article.user").length === 1);
await page.getByRole("log").getByText("Both are written.").waitFor();

// From now on, it may do less.
await page.getByRole("button", { name: "What it may do without asking: Everything" }).click();
await page.getByRole("radio", { name: "Read only" }).check();
await page.keyboard.press("Escape");
await page.getByRole("button", { name: "What it may do without asking: Read only" }).waitFor();
await over();
