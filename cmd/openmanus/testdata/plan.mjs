// A person has a plan made, looks into the session that does a step, and allows
// what it asks for.
import assert from "node:assert/strict";
import { accessible, link, newPage, over } from "./visit.mjs";

const idOf = (url) => new URL(url).hash.slice("#/s/".length);

const page = await newPage(link);
await page.getByRole("textbox", { name: "What do you want done?" }).fill("Make it");
await page.getByRole("button", { name: "How it works, and limits" }).click();
await page.getByRole("radio", { name: "Plan first" }).check();
await page.keyboard.press("Escape");
await page.getByRole("button", { name: "Start", exact: true }).click();

// What the step's session asks is asked here as well.
const allow = page.getByRole("button", { name: /^Allow once/ });
await allow.waitFor();
await page.getByRole("tab", { name: "Plan" }).click();
const step = page.locator(".tree > .wait", { hasText: "Touch it" }).filter({ hasText: "Wants to run touch made" });
await step.waitFor();
await page.locator(".kids-list li", { hasText: "touch made" }).getByText("Needs you").waitFor();

// The session of the second step is not there yet: it is waited for.
const url = page.url();
const early = await newPage(url + ".step-2-1");
await early.getByText("It has not started yet").waitFor();

// Into the first one, and back.
await step.getByRole("link", { name: "Touch it" }).click();
await page.waitForURL((u) => u.hash !== new URL(url).hash);
await page.locator("details.call", { hasText: "touch made" }).waitFor();
await page.getByRole("link", { name: "Parent session" }).waitFor();
await allow.click();
await page.getByRole("log").getByText("Done.", { exact: true }).waitFor();
await page.getByRole("link", { name: "Parent session" }).click();
await page.waitForURL(url);
await page.getByRole("tab", { name: "Plan" }).click();
await page.locator(".tree > .over", { hasText: "Look at it" }).waitFor();
await page.locator(".kids-list li", { hasText: "Done" }).first().waitFor();
assert.equal(await page.locator(".kids-list li").count(), 2);
await early.getByRole("log").getByText("Done.", { exact: true }).waitFor();
await early.close();

// As it was when the first step had just begun.
const events = await page.evaluate(async (id) => (await (await fetch(`api/v1/sessions/${id}/log`)).json()).items, idOf(url));
await page.getByRole("slider").fill(String(events.find((e) => e.type === "child_opened").seq));
await page.locator(".tree > .now", { hasText: "Touch it" }).waitFor();
assert.equal(await page.locator(".tree > .over").count(), 0);
await page.keyboard.press("Escape");
await page.locator(".tree > .over", { hasText: "Look at it" }).waitFor();

// The same attempted twice, of which the critic takes the second; and why.
await page.getByRole("link", { name: "OpenManus" }).click();
await page.getByRole("textbox", { name: "What do you want done?" }).fill("Write the sum");
await page.getByRole("button", { name: "How it works, and limits" }).click();
await page.getByRole("radio", { name: "Try several times" }).check();
await page.getByLabel("Attempts").fill("2");
await accessible(page, "new task");
await page.keyboard.press("Escape");
await page.getByRole("button", { name: "What it may do without asking" }).click();
await page.getByRole("radio", { name: "Everything" }).check();
await page.keyboard.press("Escape");
await page.getByRole("button", { name: "Start", exact: true }).click();
await page.getByRole("log").getByText("Only the second one adds up.").first().waitFor();
await page.getByRole("tab", { name: "Plan" }).click();
await page.locator(".tree > .wait", { hasText: "it does not do the task: it says 5" }).waitFor();
await page.locator(".tree > .over", { hasText: "90 of 100: 1+2+3 is 6" }).getByRole("link").waitFor();
await page.locator(".tree > .over", { hasText: "Keep the best" }).getByText("attempt 2").waitFor();
await page.getByRole("tab", { name: "Files" }).click();
await page.locator(".flist").getByRole("button", { name: "Open sum.txt" }).click();
await page.locator(".source", { hasText: "6" }).waitFor();

// A session that will never be there is said not to be.
await page.goto(url + ".nobody");
await page.reload();
await page.getByRole("alert").waitFor();
await over();
