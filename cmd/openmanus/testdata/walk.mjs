// A person without a mouse: a task with a file, the agent's browser, a log-in in it, an approval that they change, a file as it was, all
// results, and the session found again.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { context, link, newPage, over } from "./visit.mjs";

await context.addInitScript(() => {
  globalThis.mouse_ = [];
  const note = (ev) => (ev.type !== "click" || ev.detail > 0) && globalThis.mouse_.push(ev.type);
  for (const type of ["mousedown", "pointerdown", "click", "wheel", "touchstart"]) addEventListener(type, note, { capture: true, passive: true });
});
const page = await newPage(link);
const press = (key) => page.keyboard.press(key);
const chooser = page.waitForEvent("filechooser"); // from here on: the driver takes the dialog over only after a while

/** Goes on by the key Tab until it stands on what is named so. */
async function tabTo(name, key = "Tab") {
  const names = [];
  for (let i = 0; i < 150; i++) {
    const at = await page.evaluate(() => {
      const el = document.activeElement;
      return el?.getAttribute("aria-label") || (el?.labels?.[0] ?? el)?.textContent?.trim() || "";
    });
    if (typeof name === "string" ? at === name : name.test(at)) return;
    names.push(at.slice(0, 30));
    await press(key);
  }
  assert.fail(`no way to ${name} by ${key}: ${names.join(" | ")}`);
}
async function choose(name, key) {
  await tabTo(name, key);
  await press("Enter");
}
/** Settles what is asked about, by keys, until the wanted thing is there. */
async function allowUntil(wanted) {
  const card = page.locator(".card.ask", { has: page.getByRole("button", { name: /^Allow once/ }) }).first();
  for (;;) {
    await wanted.or(card).first().waitFor();
    if (await wanted.isVisible()) return;
    const asked = await card.elementHandle();
    await press("Escape"); // out of the message field, if it is there
    await page.evaluate(() => document.activeElement?.blur());
    await press("a");
    await tabTo(/^Allow once/);
    await press("Enter");
    await asked.waitForElementState("hidden");
  }
}

// A task with a file.
const dir = fs.mkdtempSync(path.join(os.tmpdir(), "walk-"));
fs.writeFileSync(path.join(dir, "guests.csv"), "name,nights\nAna,3\n");
await tabTo("What do you want done?");
await page.keyboard.type("Find what groups pay, for these guests");
await tabTo("Attach files");
let dialog; // the system's
while (!dialog) {
  await press("Enter");
  dialog = await Promise.race([chooser, new Promise((done) => setTimeout(done, 3000))]);
}
await dialog.setFiles(path.join(dir, "guests.csv"));
await choose("Start");

// They watch the browser, and take it over to sign in.
const question = page.getByRole("textbox", { name: "Answer" });
await allowUntil(question);
await page.getByRole("log").getByRole("button", { name: "guests.csv" }).waitFor();
await page.locator(".shot img").waitFor();
await choose("Take over");
await page.getByRole("textbox", { name: "Type into the page here" }).waitFor();
const type = async (text) => {
  await choose("Next field");
  await tabTo("Type into the page here", "Shift+Tab");
  await page.keyboard.type(text);
};
await type("dana@groups.example");
await type("correct horse");
await press("Enter");
await choose("Hand it back", "Shift+Tab");
await page.getByRole("button", { name: "Take over" }).waitFor();
await tabTo("Answer", "Shift+Tab");
await page.keyboard.type("I have signed in");
await press("Enter");

// An edit is allowed after it was changed.
const writes = page.locator(".card.ask h2", { hasText: "prices.csv" });
await allowUntil(writes);
await press("e");
const field = page.locator(".card.ask textarea");
await field.waitFor();
assert.ok(await field.evaluate((el) => el === document.activeElement), "the arguments have no focus");
await press("Control+a");
await page.keyboard.insertText(JSON.stringify({ command: "create", path: "prices.csv", file_text: "group,price\n10,42\n" }));
await page.locator(".card.ask .diff", { hasText: "10,42" }).waitFor();
await choose(/^Allow as edited/);
await page.getByText("Wrote prices.csv").or(page.locator("details.call", { hasText: "prices.csv" })).first().waitFor();
const done = page.getByRole("log").getByText("Groups pay 43.");
await allowUntil(done);

// The changed file, and as it was at an earlier step.
await choose("Open prices.csv");
const shown = page.locator(".grid-of");
await shown.getByText("43", { exact: true }).waitFor();
const id = decodeURIComponent(new URL(page.url()).hash.slice("#/s/".length));
const log = await page.evaluate(async (id) => (await (await fetch(`api/v1/sessions/${id}/log?limit=1000`)).json()).items, id);
assert.ok(log.some((e) => e.type === "ruled" && /42/.test(e.body.input ?? "")), "what was changed is not recorded");
assert.doesNotMatch(JSON.stringify(log), /dana@|correct horse/);
await tabTo("Go back in time");
const made = log.find((e) => e.type === "call_done" && e.body.detail?.change === "created").seq;
for (let at = log.at(-1).seq; at > made; at--) await press("ArrowLeft");
await shown.getByText("42", { exact: true }).waitFor();
await page.getByText("You are looking at").waitFor();
await press("Escape");
await page.getByText("You are looking at").waitFor({ state: "hidden" });

// All results, and the session tomorrow.
const zip = page.waitForEvent("download");
await choose("Back to the files");
await choose("All as zip");
assert.match((await zip).suggestedFilename(), /\.zip$/);
const again = await newPage(new URL("/", link).href);
await again.getByRole("textbox", { name: "What do you want done?" }).waitFor();
await again.evaluate(() => document.activeElement?.blur());
await again.keyboard.press("/");
await again.getByRole("searchbox").waitFor();
await again.keyboard.type("Groups pay");
await again.locator(".hist mark").first().waitFor();
for (let i = 0; i < 60 && !(await again.evaluate(() => !!document.activeElement?.closest(".hist"))); i++) await again.keyboard.press("Tab");
await again.keyboard.press("Enter");
await again.getByRole("log").getByText("Groups pay 43.").waitFor();
for (const p of [page, again]) assert.deepEqual(await p.evaluate(() => globalThis.mouse_), [], "a mouse was used");
fs.rmSync(dir, { recursive: true });
await over();
