// A person begins without any model: they set one up in the page, look at the settings and use it.
import assert from "node:assert/strict";
import { accessible, link, newPage, over, wrong } from "./visit.mjs";
import { reachable, sizes } from "./reach.mjs";

const { MODEL_URL: model, MODEL_KEY: key } = process.env;
const page = await newPage(link);
await page.getByRole("heading", { name: "Which model should do the work?" }).waitFor();
const form = page.locator("form.setup");
/** Every size and theme shows all of it. */
async function see(what) {
  for (const [which, size] of Object.entries(sizes)) {
    await page.setViewportSize(size);
    await reachable(page, `${what}, ${which}`);
    await page.evaluate(() => (document.documentElement.dataset.theme = "dark"));
    await reachable(page, `${what}, ${which}, dark`);
    await page.evaluate(() => (document.documentElement.dataset.theme = "light"));
  }
  await page.setViewportSize(sizes.laptop);
}
await see("first run");

// A task that is sent anyway leads here, in one plain sentence.
await page.getByRole("textbox", { name: "What do you want done?" }).fill("Say hello");
await page.keyboard.press("Control+Enter");
const said = page.locator("#first-run > [role=alert]");
await said.waitFor();
assert.match(await said.innerText(), /^[^\n/\[]{10,90}$/);
await page.waitForFunction(() => document.querySelector("form.setup").contains(document.activeElement));
await see("a task without a model");
await page.getByRole("textbox", { name: "What do you want done?" }).fill("");
wrong.splice(0, wrong.length, ...wrong.filter((w) => !/422/.test(w)));

// Providers are called as people call them, each with the place where a key is made.
const titles = await form.getByLabel("Provider").locator("option").allInnerTexts();
for (const title of ["OpenAI", "Anthropic", "Google Gemini", "Ollama", "Another address"]) assert.ok(titles.includes(title), `${title} is not among ${titles}`);
for (const [title, host] of [["OpenAI", "platform.openai.com"], ["Anthropic", "console.anthropic.com"], ["Google Gemini", "aistudio.google.com"]]) {
  await form.getByLabel("Provider").selectOption({ label: title });
  const where = form.getByRole("link", { name: "Get a key" });
  assert.equal(new URL(await where.getAttribute("href")).host, host);
  assert.equal(await where.getAttribute("rel"), "noreferrer");
}
await page.getByText("openmanus demo").waitFor();

await form.getByLabel("Provider").selectOption({ label: "Another address" });
await form.getByRole("textbox", { name: "Address" }).fill(model);
await form.getByLabel("Key", { exact: true }).fill("a-wrong-key-0123456789");
await form.getByRole("textbox", { name: "Model" }).fill("small");
await accessible(page, "first run");
await form.getByRole("button", { name: "Try it and save" }).click();
const alert = form.getByRole("alert");
await alert.waitFor();
assert.doesNotMatch(await alert.innerText(), /a-wrong-key/);
await see("a wrong key");
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
for (const name of ["Agents", "MCP servers", "Approvals you gave for good", "Sandbox", "Users", "Usage", "Storage"]) await page.getByRole("heading", { name, exact: true }).waitFor();
// An agent of one's own: the server says what is wrong with it, and then it can be chosen.
const agents = page.locator("#set-agents");
await agents.getByText("manus", { exact: true }).waitFor();
await agents.getByRole("button", { name: "Add" }).click();
const agent = agents.locator("form");
await agent.getByLabel("Name").fill("reviewer");
await agent.getByLabel("What it is for").fill("Reads changes: all of them");
await agent.getByLabel("Instructions").fill("You review.");
await agent.getByRole("checkbox", { name: "grep" }).check();
await agent.getByRole("button", { name: "File" }).click();
const file = agent.getByRole("textbox", { name: "reviewer.md" });
assert.match(await file.inputValue(), /^---\ndescription: "Reads changes: all of them"\ntools: \[grep\]\n---\n\nYou review\.$/);
await file.fill((await file.inputValue()).replace("tools:", "approve: never # mine\ntools:"));
await agent.getByRole("button", { name: "Save" }).click();
await agent.getByRole("alert").filter({ hasText: "never" }).waitFor();
await agent.getByRole("button", { name: "Fields" }).click();
await agent.getByLabel("Approvals").selectOption("ask");
await agent.getByRole("button", { name: "Save" }).click();
await agent.waitFor({ state: "detached" });
await agents.getByText("Your own · Reads changes: all of them").waitFor();
wrong.splice(0, wrong.length, ...wrong.filter((w) => !/422/.test(w)));
assert.ok(await page.evaluate(() => fetch("api/v1/agents").then((r) => r.json()).then((r) => r.items.some((a) => a.name === "reviewer"))), "the agent cannot be chosen");
await agents.getByRole("listitem").filter({ hasText: "reviewer" }).getByRole("button", { name: "Edit" }).click();
await agent.getByRole("button", { name: "File" }).click();
assert.match(await file.inputValue(), /approve: ask # mine/);
await agent.getByRole("button", { name: "Cancel" }).click();

// An MCP server: added, looked at, a tool of it switched off, switched off, removed.
const mcp = page.locator("#set-mcp");
await mcp.getByRole("button", { name: "Add" }).click();
await mcp.getByRole("textbox", { name: "Name", exact: true }).fill("own");
await mcp.getByRole("textbox", { name: "Command" }).fill("openmanus mcp serve --workspace " + process.env.ROOM);
await mcp.getByRole("button", { name: "Add it" }).click();
const row = mcp.locator(".rows > li").filter({ has: page.getByText("own", { exact: true }) });
await row.getByText(/\d+ tools · /).waitFor();
await row.getByRole("switch", { name: "Let agents use bash" }).uncheck();
await page.waitForFunction(() => fetch("api/v1/settings/servers/test", { method: "POST", headers: { "OpenManus-Page": "1", "Content-Type": "application/json" }, body: '{"name":"own"}' }).then((r) => r.json()).then((r) => r.tools.some((x) => x.name === "bash" && x.off)));
await accessible(page, "an MCP server with its tools");
await row.getByRole("switch", { name: "Use own" }).uncheck();
await row.getByText("Off", { exact: true }).waitFor();
await row.getByRole("button", { name: "Remove own" }).click();
await row.getByRole("button", { name: "Really remove own" }).click();
await row.waitFor({ state: "detached" });
// What else acts: hooks, without the secret part of an address, and triggers.
const hooks = page.locator("#set-hooks");
await hooks.getByText("cat <b>").waitFor();
await hooks.getByRole("listitem").filter({ hasText: "before_call" }).getByText("decides").waitFor();
await hooks.getByText("/api/v1/triggers/issues").waitFor();
await hooks.getByText("hooks.example", { exact: true }).waitFor();
assert.doesNotMatch(await hooks.innerText(), /a-secret-path/);
await hooks.getByText("It took nothing of 1 session").waitFor(); // which the service refused
await hooks.getByRole("button", { name: "Post again" }).click();
await hooks.getByText("board", { exact: true }).waitFor();

// A schedule: added, refused where it is wrong, run now, paused, removed.
const schedules = page.locator("#set-schedules");
await schedules.getByRole("button", { name: "Add", exact: true }).click();
await schedules.getByLabel("Name").fill("morning");
await schedules.getByLabel("What is to be done").fill("Say <b>hello</b>");
await schedules.getByLabel("When").selectOption("Cron line");
await schedules.getByRole("textbox", { name: "Cron line" }).fill("61 9 * * *");
await schedules.getByRole("button", { name: "Add it" }).click();
await schedules.getByRole("alert").filter({ hasText: "61" }).waitFor();
wrong.splice(0, wrong.length, ...wrong.filter((w) => !/422/.test(w)));
await schedules.getByLabel("When").selectOption("Every week");
await schedules.getByRole("combobox", { name: /^Day/ }).selectOption("Friday");
await accessible(page, "a new schedule");
await schedules.getByRole("button", { name: "Add it" }).click();
const due = schedules.locator(".rows > li").filter({ has: page.getByText("morning", { exact: true }) });
await due.getByText("0 9 * * 5").waitFor();
await due.getByText(/^Say <b>hello<\/b>/).waitFor();
await due.getByText(/Next: Fri/).waitFor();
await due.getByRole("button", { name: "Run now" }).click();
await page.waitForFunction(() => fetch("api/v1/schedules/morning/history").then((r) => r.json()).then((r) => r.items?.[0]?.status === "finished"));
await due.getByRole("button", { name: "What it did" }).click();
await due.getByRole("link", { name: "Done" }).waitFor();
await due.getByRole("switch", { name: "Use morning" }).uncheck();
await due.getByText("Paused: its times are left out").waitFor();
await accessible(page, "a schedule with its history");
await due.getByRole("button", { name: "Remove morning" }).click();
await due.getByRole("button", { name: "Really remove morning" }).click();
await due.waitFor({ state: "detached" });
await see("settings");
await page.evaluate(() => (location.hash = "#/"));
await page.getByRole("heading", { name: "What do you want done?" }).waitFor();
await page.evaluate(() => (location.hash = "#/settings"));
await page.locator("#set-storage").waitFor();
await page.keyboard.press("End");
await page.waitForFunction(() => document.querySelector("main").scrollTop > 300);
const storage = page.locator("#set-storage");
await storage.getByRole("button", { name: "What can go?" }).click();
await storage.getByText("There is nothing to delete.").waitFor();
await page.locator("#set-mcp").getByText("hostile").waitFor();
await page.locator("#set-mcp").getByText("<img src=x onerror=pwned=1>").waitFor();
await page.getByRole("button", { name: "Find out" }).click();
await page.locator(".explained").waitFor();
assert.ok(!(await page.content()).includes(key), "the key is on the page");
await page.getByRole("button", { name: "Light or dark" }).click();
await page.setViewportSize({ width: 390, height: 800 });
assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it is wider than the telephone");
assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
await over();
