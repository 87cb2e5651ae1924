// A person watches the agent's computer: what runs, the browser as it is, which they take over to sign in, the files as what they are, and the past.
import assert from "node:assert/strict";
import { accessible, link, newPage, over, wrong } from "./visit.mjs";

const page = await newPage(link);
const id = await page.evaluate(async () => {
  const send = (path, body) => fetch("api/v1/sessions" + path, { method: "POST", headers: { "OpenManus-Page": "1", "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const s = await (await send("", { approve: "all" })).json();
  await send(`/${s.id}/messages`, { id: "m1", text: "Find what groups pay at Casa do Rio, and keep it as a table." });
  return s.id;
});
await page.goto(new URL("#/s/" + encodeURIComponent(id), link).href.replace(/\?token=[^#]*/, ""));

// The computer follows: the browser, live, while the agent waits for the person.
const field = page.getByRole("textbox", { name: "Answer" });
await field.waitFor();
await page.locator('[role=tab][aria-selected=true]', { hasText: "Browser" }).waitFor();
const shot = page.locator(".shot img");
await shot.waitFor();
assert.ok(await shot.evaluate((img) => img.decode().then(() => img.naturalWidth > 600)), "the picture of the browser");
await page.getByRole("button", { name: "Numbers of the elements" }).click();
await page.locator(".marks text", { hasText: "2" }).waitFor();

// Taken over, it is the person's; what they type is nowhere.
await page.getByRole("button", { name: "Take over" }).click();
const typing = page.getByRole("textbox", { name: "Type into the page here" });
await typing.waitFor();
const click = async (mark) => {
  const at = await page.locator(".marks .el").nth(mark).boundingBox();
  await page.mouse.click(at.x + at.width / 2, at.y + at.height / 2);
};
await click(0);
await typing.pressSequentially("dana@groups.example");
await page.getByRole("button", { name: "Next field" }).click();
await typing.pressSequentially("correct horse");
await typing.press("Enter");
await page.getByRole("button", { name: "Hand it back" }).click();
await page.getByRole("button", { name: "Take over" }).waitFor();
await page.getByRole("log").getByText("used the agent's browser").waitFor();
await field.fill("I have signed in");
await page.keyboard.press("Enter");
await page.getByRole("log").getByText("The prices for groups are in").waitFor();
const log = await page.evaluate(async (id) => await (await fetch(`api/v1/sessions/${id}/log?limit=1000`)).text(), id);
assert.match(log, /Welcome, member of groups\.example/, "the person did not sign in");
assert.match(log, /The user took over the browser for/);
assert.doesNotMatch(log, /dana@|correct horse/, "what was typed is in the journal");

// At the end, what was made is shown. Each file is what it is, and nothing in it runs.
const open = async (name) => {
  await page.getByRole("tab", { name: /^Files/ }).click();
  await page.locator(".flist").getByRole("button", { name: "Open " + name }).click();
};
await page.locator(".grid-of td", { hasText: "2025-12" }).waitFor();
await page.locator(".grid-of td", { hasText: "<img src=x onerror=pwned=1>" }).waitFor();
await open("data.json");
await page.locator(".json").getByText("42800").waitFor();
await accessible(page, "tree");
await open("book.ipynb");
await page.locator(".cell-out", { hasText: "42" }).waitFor();
await accessible(page, "notebook");
await open("report.pdf");
await page.locator(".doc.pdf figcaption", { hasText: "Quarterly report" }).waitFor({ state: "attached" });
assert.ok(await page.locator(".doc.pdf canvas").evaluate((c) => c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some((v, i) => i % 4 === 0 && v < 90)), "the PDF is blank");
await open("letter.rtf");
await page.locator(".paper", { hasText: "Dear reader" }).waitFor();
await page.getByText("layout, pictures and charts are not").waitFor();
await accessible(page, "document");
const before = wrong.length;
await open("report.html");
const frame = page.frameLocator("iframe.page-frame");
await frame.getByRole("heading", { name: "Sales by month" }).waitFor();
await page.getByRole("button", { name: "Run its scripts" }).click();
await frame.getByRole("heading", { name: "scripts ran" }).waitFor();
await page.getByRole("tab", { name: /^Files/ }).waitFor(); // the page around it is as it was
assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
const refused = wrong.splice(before); // the console says what the policy refused, and no request left
const expected = /^request: .*\/beacon|Content Security Policy|sandbox|Blocked|cross-origin|^Failed to fetch$/i; // the last one is of its own script
assert.deepEqual(refused.filter((w) => !expected.test(w)), []);
await open("src/totals.ts");
await page.getByRole("button", { name: "Changes", exact: true }).click();
await page.locator(".dl.plus", { hasText: "reduce" }).waitFor(); // against the beginning of the session: the file is new
assert.equal(await page.locator(".dl.minus").count(), 0);
await accessible(page, "changes");

// The terminal: colours, what was overwritten is gone, and the end is in view.
await page.getByRole("tab", { name: "Terminal" }).click();
const term = page.locator(".term");
await term.locator(".ink-2", { hasText: "✓ totals" }).waitFor();
const text = (await term.innerText()).split("seq 1 200").at(-1); // what was printed
assert.match(text, /\n100%\n/);
assert.doesNotMatch(text, /10%\n|evil|\u001b|\\x1b/);
assert.match(text, /title <script>pwned=1<\/script>/);
assert.ok(await term.evaluate((el) => el.scrollHeight - el.clientHeight - el.scrollTop < 60), "the end of the terminal is not in view");
await accessible(page, "terminal");

// The past is what it was, and cannot be taken for now.
const slider = page.getByRole("slider");
const first = await page.evaluate(async (id) => (await (await fetch(`api/v1/sessions/${id}/log`)).json()).items.find((e) => e.type === "call_done").seq, id);
await slider.fill(String(first));
await page.getByText("You are looking at").waitFor();
await page.getByRole("tab", { name: "Editor" }).click();
await page.getByText("No file has been written or read.").waitFor();
await page.getByRole("button", { name: "One step on" }).click();
await page.locator(".source, .diff").first().waitFor();

// Files are as they were then, read or downloaded, and say so.
const events = await page.evaluate(async (id) => (await (await fetch(`api/v1/sessions/${id}/log`)).json()).items, id);
const created = events.find((e) => e.type === "call_done" && e.body.detail?.path === "src/totals.ts").seq;
await slider.fill(String(created));
await open("src/totals.ts");
await page.locator(".source", { hasText: "a.length" }).waitFor();
await page.locator(".pathbar", { hasText: "as it was then" }).waitFor();
const old = await page.locator(".pathbar").getByRole("link", { name: "Download src/totals.ts" }).getAttribute("href");
assert.match(await page.evaluate(async (url) => (await fetch(url)).text(), old), /a\.length/);
await accessible(page, "a file of the past");
await slider.fill(String(first));
await page.getByText("There was no such file then").waitFor();
wrong.splice(0, wrong.length, ...wrong.filter((w) => !/404/.test(w)));
await slider.fill(String(created));
await page.locator(".source", { hasText: "a.length" }).waitFor();
await page.getByRole("button", { name: "Play", exact: true }).click();
await page.getByText("You are looking at").waitFor({ state: "hidden" });
await page.getByRole("button", { name: "Following" }).waitFor({ state: "detached" });

// Everything as one file.
await page.getByRole("tab", { name: /^Files/ }).click();
const [zip] = await Promise.all([page.waitForEvent("download"), page.locator(".pathbar").getByRole("link", { name: "All as zip" }).click()]);
assert.match(zip.suggestedFilename(), /\.zip$/);
assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
await over();
