// A person begins without any model: they set one up in the page, look at the settings and use it.
import assert from "node:assert/strict";
import { accessible, link, newPage, over, picture, wrong } from "./visit.mjs";

const { MODEL_URL: model, MODEL_KEY: key } = process.env;
const page = await newPage(link);
await page.getByRole("heading", { name: "Which model should do the work?" }).waitFor();
const form = page.locator("form.setup");
await form.getByLabel("Provider").selectOption({ label: "Another address" });
await form.getByRole("textbox", { name: "Address" }).fill(model);
await form.getByLabel("Key", { exact: true }).fill("a-wrong-key-0123456789");
await form.getByRole("textbox", { name: "Model" }).fill("small");
await picture(page, "first-run");
await accessible(page, "first run");
await form.getByRole("button", { name: "Try it and save" }).click();
const alert = form.getByRole("alert");
await alert.waitFor();
assert.doesNotMatch(await alert.innerText(), /a-wrong-key/);
await form.getByLabel("Key", { exact: true }).fill(key);
await form.getByRole("button", { name: "Try it and save" }).click();
await form.waitFor({ state: "detached" });
wrong.splice(0, wrong.length, ...wrong.filter((w) => !/422/.test(w))); // the refused key

// It is used at once.
await page.getByRole("textbox", { name: "What do you want done?" }).fill("Say hello");
await page.keyboard.press("Control+Enter");
await page.getByRole("log").getByText("Hello from the model").first().waitFor();

// The settings: the model with its key's state and a test, agents, servers, decisions, sandbox, usage, storage.
await page.getByRole("link", { name: "Settings" }).first().click();
const models = page.locator("#set-models");
await models.getByText("key from").waitFor();
await models.getByRole("button", { name: "Check" }).click();
await models.getByText("answered in").waitFor();
for (const name of ["Agents", "MCP servers", "Approvals you gave for good", "Sandbox", "Usage", "Storage"]) await page.getByRole("heading", { name, exact: true }).waitFor();
await page.locator("#set-agents").getByText("manus", { exact: true }).waitFor();
await page.locator("#set-mcp").getByText("hostile").waitFor();
await page.locator("#set-mcp").getByText("<img src=x onerror=pwned=1>").waitFor();
await page.getByRole("button", { name: "Find out" }).click();
await page.locator(".explained").waitFor();
assert.ok(!(await page.content()).includes(key), "the key is on the page");
await picture(page, "settings");
await accessible(page, "settings");
await page.getByRole("button", { name: "Light or dark" }).click();
await accessible(page, "settings, dark");
await page.setViewportSize({ width: 390, height: 800 });
assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it is wider than the telephone");
await accessible(page, "settings, phone");
assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
await over();
