// A person at the page. Where it prints a line it waits for one: the test kills
// the server, or starts it.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { accessible, browser, link, newPage, over, wrong } from "./visit.mjs";

const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function tell(what) {
  console.log(what);
  const { value, done } = await lines.next();
  assert.ok(!done, what);
  return value;
}

const answerOf = (page) => page.getByRole("log").getByText("The best month is June");

// A whole task, with the keyboard alone.
const page = await newPage(link);
assert.ok(!page.url().includes("token"), "the token stays in the address");
await page.keyboard.type("Find the best month");
await page.keyboard.press("Control+Enter");
const allow = page.getByRole("button", { name: /^Allow once/ });
await allow.waitFor();
assert.match(await page.locator(".ask .exact").innerText(), /^printf[^]*\\u202egnp\.exe$/);
const url = page.url();

// A second tab sees the same, and what is settled in one goes in the other.
const second = await newPage(url);
await second.getByRole("button", { name: /^Allow once/ }).waitFor();
await allow.focus();
await page.keyboard.press("Enter");
await second.getByRole("textbox", { name: "Answer" }).waitFor();

// The server dies and comes back while the page is open.
await tell("kill");
await page.getByText("No connection to OpenManus").waitFor();
await tell("start");
await page.getByText("No connection to OpenManus").waitFor({ state: "hidden" });
const answer = page.getByRole("textbox", { name: "Answer" });
await answer.fill("euro");
await page.keyboard.press("Enter");

// Reloaded in the middle, nothing is lost and nothing is there twice.
await allow.waitFor();
await page.reload();
const sources = page.locator(".ask .sources li");
assert.match(await sources.first().innerText(), /^file_text: .*img src=x onerror=pwned=1.* from the workspace \(private, not trusted\)$/);
await allow.click();
await answerOf(page).waitFor();
await answerOf(second).waitFor();
for (const p of [page, second]) {
  await p.getByRole("button", { name: /^4 steps in/ }).click();
  assert.equal(await p.locator("details.call").count(), 4);
  assert.equal(await p.locator("article.user").count(), 1);
  assert.equal(await answerOf(p).count(), 1);
}
await page.locator("article.agent input[type=checkbox]:checked:disabled").waitFor();
await second.close();

// What runs in tool output, titles and file names is text.
assert.equal(await page.locator("img[src='x']").count(), 0);
assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
for (const c of await page.locator("details.call").all()) await c.locator("summary").click();
await page.getByText("<img src=x onerror=").first().waitFor();
await page.locator("details.call .sources li", { hasText: "file_text" }).first().waitFor();

// The agent's computer: plan, terminal, files, download.
await page.getByRole("tab", { name: "Plan" }).click();
await page.getByText("Write report.md").last().waitFor();
await page.getByRole("tab", { name: "Terminal" }).click();
await page.locator(".term", { hasText: "line 3" }).waitFor();
await page.getByRole("tab", { name: "Files" }).click();
await page.locator(".flist").getByRole("button", { name: "Open report.md" }).click();
await page.locator(".paper table").waitFor();
const [download] = await Promise.all([page.waitForEvent("download"), page.locator(".pathbar").getByRole("link", { name: "Download report.md" }).click()]);
assert.match(fs.readFileSync(await download.path(), "utf8"), /June \| 42,800/);

// The past: before the plan there was none.
const slider = page.getByRole("slider");
await slider.focus();
await slider.fill("5");
await page.getByText("You are looking at").waitFor();
assert.equal(await answerOf(page).count(), 0);
assert.equal(await page.locator("details.call").count(), 1);
await page.keyboard.press("Escape");
await answerOf(page).waitFor();

// A copy, and saying it anew.
await page.locator("article.user").hover();
await page.getByRole("button", { name: "Edit", exact: true }).click();
const message = page.getByRole("textbox", { name: "Message" });
assert.equal(await message.inputValue(), "Find the best month");
assert.equal(page.url(), url, "a branch before anything is sent");
await page.getByRole("button", { name: "Cancel" }).click();
assert.equal(await message.inputValue(), "");

// Shared as one file, it opens from disk without a script, has the file that was made, and asks nobody.
await page.getByRole("button", { name: "More actions" }).click();
const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Share as one file" }).click()]);
const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "saved-")), "saved.html");
await saved.saveAs(file);
for (const javaScriptEnabled of [false, true]) {
  const offline = await (await browser.newContext({ offline: true, javaScriptEnabled, colorScheme: "dark" })).newPage();
  offline.on("pageerror", (e) => wrong.push("saved: " + e.message));
  offline.on("console", (m) => wrong.push("saved: " + m.text()));
  offline.on("request", (r) => /^(file|data):/.test(r.url()) || wrong.push("saved: " + r.url()));
  await offline.goto("file://" + file);
  await offline.getByText("The best month is June").waitFor();
  await offline.locator("math msup").waitFor();
  assert.equal(await offline.locator("script, iframe, object, embed, link, form, [onerror]").count(), 0);
  await offline.locator("summary", { hasText: "report.md" }).click();
  await offline.getByRole("link", { name: "Save this file" }).last().waitFor();
  await offline.locator("details.file td", { hasText: "42,800" }).waitFor();
  if (javaScriptEnabled) await accessible(offline, "the shared file");
  await offline.context().close();
}
fs.rmSync(path.dirname(file), { recursive: true });

// In the dark, in Chinese, on a telephone.
await page.getByRole("button", { name: "Light or dark" }).click();
await page.getByRole("button", { name: "Language: English" }).click();
await page.getByRole("tab", { name: "终端" }).waitFor();
await page.getByRole("button", { name: "语言：中文" }).click();
await page.setViewportSize({ width: 390, height: 800 });
await answerOf(page).waitFor();
assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it is wider than the telephone");
await page.getByRole("button", { name: "Open or close the computer" }).click();
await page.getByRole("tab", { name: "Files" }).waitFor();

// Found again, and deleted.
await page.setViewportSize({ width: 1280, height: 800 });
await page.getByRole("link", { name: "Search and history" }).click();
await page.getByRole("searchbox").fill("best month is June");
await page.locator(".hist mark").first().waitFor();

await over();
