// A person sees every screen of the page: in light, dark, English and Chinese, on a telephone and on a wide screen. In each of them axe finds nothing.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { accessible, browser, fits, link, newPage, over, picture, pictures } from "./visit.mjs";
import { drawn, reachable, sizes } from "./reach.mjs";

const home = process.env.SCREENS_HOME;
const { desktop, laptop, phone } = sizes;
const wide = { width: 2560, height: 1440 };

const page = await newPage(link);
await page.setViewportSize(desktop);

// With SCREENS=all, what can be reached is looked at in every size and theme, and else in a part of them.
const whole = process.env.SCREENS === "all";

/** Looks at what is on the screen in every form that it has; kept says of which a picture is kept, beside the usual one. */
async function see(name, ...kept) {
  const form = async (which, size) => {
    await page.setViewportSize(size);
    if (kept.includes(which)) await picture(page, `${name}-${which}`);
    await accessible(page, `${name}, ${which}`);
    await fits(page, `${name}, ${which}`);
    if (which !== "wide") await reachable(page, `${name}, ${which}`);
  };
  if (!kept.includes("nothing")) await picture(page, name);
  await accessible(page, name);
  await drawn(page, name);
  await form("wide", wide);
  await form("phone", phone);
  await page.setViewportSize(laptop);
  await reachable(page, name + ", laptop");
  await page.setViewportSize(desktop);
  const [theme, language] = await page.locator(".rail-foot button").all();
  await turn(theme);
  if (kept.includes("dark")) await picture(page, name + "-dark");
  for (const [which, size] of Object.entries(whole ? sizes : {})) {
    await page.setViewportSize(size);
    await reachable(page, `${name}, ${which}, dark`);
  }
  await page.setViewportSize(desktop);
  if (whole) await reachable(page, name);
  await turn(language);
  await form("dark and Chinese", desktop);
  await turn(theme);
  await turn(language);
}

/** Turns the theme, or the language, to the other one. */
async function turn(button) {
  await button.click();
  await page.mouse.move(0, 0);
}

const call = (method, url, body) =>
  page.evaluate(
    async ([method, url, body]) => {
      const headers = { "OpenManus-Page": "1", "Content-Type": "application/json" };
      const r = await fetch("api/v1" + url, { method, headers, body: body && JSON.stringify(body) });
      if (!r.ok) throw new Error(`${method} ${url}: ${r.status} ${await r.text()}`);
      return r.json().catch(() => null);
    },
    [method, url, body],
  );

/** Begins a task, as another page would. */
async function task(title, text, spec, file) {
  const { id } = await call("POST", "/sessions", { approve: "all", ...spec });
  if (file) {
    await page.evaluate(([id, name, text]) => fetch(`api/v1/sessions/${id}/files/${name}`, { method: "PUT", headers: { "OpenManus-Page": "1" }, body: text }), [id, ...file]);
    text += "\n\nFiles in the workspace for this: " + file[0];
  }
  await call("PATCH", `/sessions/${id}`, { title });
  await call("POST", `/sessions/${id}/messages`, { id: "m1", text });
  return id;
}
const go = async (place, what) => {
  await page.evaluate((place) => (location.hash = place), place);
  await what.waitFor();
};
const tab = (name) => page.getByRole("tab", { name });
const open = (name) => page.locator(".flist").getByRole("button", { name: "Open " + name }).click();
const log = page.getByRole("log");

const sales = "month,customer,revenue\n" + Array.from({ length: 18412 }, (_, i) => `2025-${String((i % 12) + 1).padStart(2, "0")},C${1000 + ((i * 7919) % 900)},${((i * 31) % 283) + 6}\n`).join("");
const months = await task("Best months of 2025", "Which three months of 2025 earned the most, and why? Write a short report with a chart that I can send to Marta.", { limits: { cost_usd: 2 } }, ["sales-2025.csv", sales]);
const contracts = await task("Which contracts end this year?", "Read the supplier contracts and list those that end this year.", { limits: { cost_usd: 0.1 } });
const invoicing = await task("Which e-invoicing formats apply to us?", "Which e-invoicing formats will we have to accept from 2027, and what do our three largest customers use?");
const template = await task("E-mails with the new template", "Move the shop's e-mails to the new template. Show me how before you change anything.", { approve: "plan", workspace: "shop" });
const board = await task("Board pack for October", "Prepare the board pack for October: figures, what changed around us, what customers say. Twelve pages at most, every number with its source.", { flow: {} });
const rounding = await task("Fix rounding in invoices", "Two tests in invoice-service have failed since Friday: totals are one cent off. Find out why, fix it, and make sure that nothing else breaks.", { workspace: "invoice-service" });
const release = await task("Release invoice-service 2.4", "Release 2.4 of invoice-service: check the change log, raise the version and push the branch. Ask me before anything leaves this machine.", { approve: "ask", workspace: "invoice-service" });
const venue = await task("Workshop venue in Lisbon", "Find a venue in Lisbon for a workshop with 40 people on Thursday 12 March. Central, step-free, under €1,300 for the day. Then ask for a quote.");

// Work that goes on: what ran, what runs, and the terminal beside it.
await go("#/s/" + rounding, log.getByText("Running", { exact: true }));
fs.writeFileSync(path.join(home, "seen"), "");
await page.locator(".term", { hasText: "(4 of 6)" }).last().waitFor();
await page.locator(".call.live pre.body", { hasText: "(4 of 6)" }).waitFor();
await see("running", "dark", "wide", "phone");
await page.setViewportSize(phone);
await page.getByRole("button", { name: "Open or close the computer" }).click();
await tab("Terminal").waitFor();
await picture(page, "phone-computer");
await accessible(page, "the computer on a telephone");
await page.getByRole("button", { name: "Open or close the computer" }).click();
await page.getByRole("button", { name: "Sessions" }).click();
await page.getByRole("navigation", { name: "Sessions" }).waitFor();
await picture(page, "phone-sessions");
await accessible(page, "the sessions on a telephone");
await page.keyboard.press("Escape");
await page.setViewportSize(desktop);
await tab("Editor").click();
await page.locator(".diff").first().waitFor();
await see("editor");

// The first page, with what needs the person.
await go("#/", page.getByRole("heading", { name: "What do you want done?" }));
await page.getByRole("link", { name: "Answer" }).first().waitFor();
await see("start", "dark", "phone");

// May it? What exactly, and where it reaches.
await go("#/s/" + release, page.getByRole("button", { name: /^Allow once/ }).first());
await page.getByText("2 of 2").waitFor();
const card = page.locator(".ask").first();
const golden = new URL("screens/approval.aria", import.meta.url);
if (pictures) fs.writeFileSync(golden, (await card.ariaSnapshot()) + "\n");
assert.equal((await card.ariaSnapshot()) + "\n", fs.readFileSync(golden, "utf8"), "what a screen reader finds in the card");
const order = [];
for (await card.getByRole("region", { name: "Changes" }).focus(); await card.evaluate((el) => el.contains(document.activeElement)); await page.keyboard.press("Tab")) order.push(await page.evaluate(() => document.activeElement.ariaLabel ?? document.activeElement.textContent.trim()));
assert.deepEqual(order, ["Changes", "Arguments", "Allow onceA", "Always for this exact call", "Deny…D", "Edit the arguments"]);
await see("approval", "dark", "phone");

// A question, and the agent's browser as it is now; taken over, it is the person's.
await go("#/s/" + venue, page.getByRole("radio").first());
await tab(/^Files/).click();
await open("venues.md");
await page.locator(".paper table").waitFor();
await see("question");
await tab("Browser").click();
await page.locator(".shot img").waitFor();
await page.getByRole("button", { name: "Numbers of the elements" }).click();
await page.locator(".marks text", { hasText: "5" }).waitFor();
await see("browser");
await page.getByRole("button", { name: "Take over" }).click();
await page.getByRole("textbox", { name: "Type into the page here" }).waitFor();
await see("takeover", "nothing");
await page.getByRole("button", { name: "Hand it back" }).click();
await page.getByRole("button", { name: "Take over" }).waitFor();

// The end: the answer, what was made, what it cost; and each file as what it is.
await go("#/s/" + months, page.getByText(/^Done in/));
await page.getByRole("list", { name: "Files", exact: true }).getByRole("button", { name: "Open report.md" }).click();
await page.locator(".paper img").waitFor();
await see("report", "dark", "phone");
await tab(/^Files/).click();
await page.locator(".flist").waitFor();
await see("files");
await open("months.csv");
await page.locator(".grid-of").waitFor();
await see("table");
await tab(/^Files/).click();
await open("summary.pdf");
await page.locator(".doc.pdf canvas").first().waitFor();
await see("pdf", "nothing");

// A plan: its steps, who does them, and the same as a board.
await go("#/s/" + board, page.getByRole("tab", { name: "Plan" }));
await tab("Plan").click();
await page.locator(".tree > .over").first().waitFor();
await page.locator(".tree > .now").first().waitFor();
await see("plan");
await page.getByRole("button", { name: "Board" }).click();
await page.getByRole("button", { name: "Make the computer larger" }).click();
await see("board", "dark");
await page.getByRole("button", { name: "Make the computer smaller" }).click();
await go("#/s/" + template, page.getByRole("heading", { name: /plan/i }));
await see("proposal");

// The past cannot be taken for now.
const events = (await call("GET", `/sessions/${rounding}/log`)).items;
await go("#/s/" + rounding, log.getByText("Running", { exact: true }));
await page.getByRole("slider").fill(String(events.find((e) => e.type === "call_done" && e.body.detail?.path === "src/totals.ts").seq));
await page.getByText("You are looking at").waitFor();
await see("past", "phone");
await page.keyboard.press("Escape");

// What went wrong is said, and what to do about it.
await go("#/s/" + invoicing, page.getByRole("textbox", { name: "Paste a new key" }));
await see("key");
await go("#/s/" + contracts, page.getByRole("button", { name: /more$/ }));
await see("limit");

// What was done, found again.
await go("#/history", page.getByRole("searchbox"));
await page.getByRole("searchbox").fill("invoice");
await page.locator(".hist mark").first().waitFor();
await see("history");

// The settings, section by section.
await go("#/settings", page.locator("#set-models").getByText("gpt-5").first());
await page.locator("#set-storage").waitFor();
await see("settings", "dark", "phone");
await go("#/settings/usage", page.locator(".chart rect").first());
await see("usage");
await go("#/settings/schedules", page.locator("#set-schedules").getByText("weekly-report"));
await see("schedules");
await go("#/settings/device", page.locator("#set-device"));
await page.locator("#set-device").getByRole("button").nth(-2).click();
await page.getByRole("img", { name: "QR code" }).waitFor();
await see("link");

// Nothing works without a login, and a saved session needs none.
const stranger = await (await browser.newContext({ locale: "en-US" })).newPage();
await stranger.setViewportSize(desktop);
for (const [which, size] of [["", desktop], ["-phone", phone]]) {
  await stranger.setViewportSize(size);
  await stranger.goto(new URL("/login", link).href);
  await picture(stranger, "login" + which);
  await accessible(stranger, "login" + which);
}
await stranger.goto(link);
const saved = path.join(home, "saved.html");
fs.writeFileSync(saved, await page.evaluate((id) => fetch(`api/v1/sessions/${id}/share`).then((r) => r.text()), months));
await stranger.goto("file://" + saved);
await stranger.getByText("December, November and June").filter({ visible: true }).first().waitFor();
await stranger.setViewportSize(desktop);
await picture(stranger, "saved");
await accessible(stranger, "a saved page");
await stranger.close();

fs.writeFileSync(path.join(home, "go"), "");
await go("#/s/" + rounding, log.getByText("Totals are exact again"));
await over();
