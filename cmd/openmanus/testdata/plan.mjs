// A person has a plan made, looks into the session that does a step, and allows
// what it asks for. Arguments: the link, a directory for pictures.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";

const require = createRequire(path.join(process.env.OPENMANUS_MODULES, "x.js"));
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const [link, pictures] = process.argv.slice(2);

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en-US" });
context.setDefaultTimeout(60_000);
const page = await context.newPage();
const wrong = [];
page.on("pageerror", (e) => wrong.push(e.message));
await page.goto(link);

await page.getByRole("textbox", { name: "What do you want done?" }).fill("Make it");
await page.getByText("More", { exact: true }).click();
await page.getByLabel("Plan first").check();
await page.getByRole("button", { name: "Start" }).click();

// What the step's session asks is asked here as well.
const allow = page.getByRole("button", { name: "Allow", exact: true });
await allow.waitFor();
await page.getByRole("tab", { name: "Plan" }).click();
const step = page.locator(".plan .in_progress", { hasText: "Touch it" });
await step.waitFor();
await page.locator(".below li", { hasText: "bash" }).getByText("waits for you").waitFor();
await page.screenshot({ path: path.join(pictures, "plan.png") });
await page.evaluate(axe);
const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
assert.deepEqual(found.violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => [v.id, v.nodes[0].html.slice(0, 200)]), []);

// Into the session, and back.
const url = page.url();
await step.getByRole("link", { name: "Touch it" }).click();
await page.waitForURL((u) => u.hash !== new URL(url).hash);
await page.locator("details.call", { hasText: "touch made" }).waitFor();
await page.getByRole("link", { name: "The session that asked for this one" }).waitFor();
await allow.click();
await page.getByRole("log").getByText("Done.").waitFor();
await page.getByRole("link", { name: "The session that asked for this one" }).click();
await page.waitForURL(url);
await page.getByRole("tab", { name: "Plan" }).click();
await page.locator(".plan .completed", { hasText: "Look at it" }).waitFor();
await page.locator(".below li", { hasText: "done" }).first().waitFor();
assert.equal(await page.locator(".below li").count(), 2);
assert.deepEqual(wrong, []);
await browser.close();
console.log("ok");
