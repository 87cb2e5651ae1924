// A person with many tabs, and a connection that dies without a word.
import assert from "node:assert/strict";
import net from "node:net";
import { context, link, newPage, over } from "./visit.mjs";

const start = async (page, task) => {
  await page.getByRole("textbox", { name: "What do you want done?" }).fill(task);
  await page.getByRole("button", { name: "Start", exact: true }).click();
};
const allow = (page) => page.getByRole("button", { name: /^Allow once/ });
const answer = (page) => page.getByRole("log").getByText("All is done.");

// Twenty tabs of one browser follow the same session, and each can still act.
const page = await newPage(link);
await start(page, "Do it");
await allow(page).waitFor();
const url = page.url();
const tabs = [];
for (let i = 0; i < 19; i++) tabs.push(await newPage(url));
for (const t of tabs) await allow(t).waitFor();
await allow(tabs.at(-1)).click();
for (const t of [page, ...tabs]) await answer(t).waitFor();

// The other sessions of the rail are known in all of them.
const last = tabs.at(-1);
await last.getByRole("link", { name: "New task" }).click();
await start(last, "Do this as well");
await allow(last).waitFor();
await page.getByRole("navigation", { name: "Sessions" }).getByRole("link", { name: "Do this as well" }).waitFor();
const second = last.url();
for (const t of tabs) if (t !== last) await t.close();

// A proxy loses the server and keeps the browser's connections open. Nothing says so; new connections work.
const { hostname, port } = new URL(link);
const open = new Set();
const proxy = net.createServer((client) => {
  const server = net.connect(Number(port), hostname);
  const pair = { client, server, dead: false };
  open.add(pair);
  client.on("data", (d) => pair.dead || server.write(d));
  server.on("data", (d) => pair.dead || client.write(d));
  client.on("error", () => server.destroy()).on("close", () => server.destroy());
  server.on("error", () => pair.dead || client.destroy()).on("close", () => pair.dead || client.destroy());
});
await new Promise((listening) => proxy.listen(0, "127.0.0.1", listening));
const away = new URL(link);
away.port = String(proxy.address().port);
const far = await context.newPage();
await far.goto(away.href);
await far.goto(new URL(new URL(second).hash, away.origin + "/").href);
await allow(far).waitFor();
for (const pair of open) {
  pair.dead = true;
  pair.server.destroy();
}
await allow(last).click();
await answer(last).waitFor();
await answer(far).waitFor(); // it noticed by itself
assert.equal(await far.locator("article.user").count(), 1);
for (const pair of open) pair.client.destroy();
await far.close();
proxy.close();

await over();
