// What every visit to the page needs. Arguments: the link, and a directory for
// pictures, if they are to be kept.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const require = createRequire(path.join(process.env.OPENMANUS_MODULES, "x.js"));
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export const [link, pictures] = process.argv.slice(2);

// On a machine that is very busy everything takes long, and still has to work.
const patience = Number(process.env.PATIENCE ?? 240_000);

export const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"], timeout: patience });
export const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true, locale: "en-US", reducedMotion: "reduce" });
context.setDefaultTimeout(patience);

/** What went wrong in pages, as they told. */
export const wrong = [];

// Of what fails, the pages are kept as they were then.
process.on("uncaughtException", async (e) => {
  console.error(e, wrong);
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "page-"));
  for (const [i, p] of context.pages().entries()) await p.screenshot({ path: path.join(dir, i + ".png") }).catch(() => {});
  console.error("pictures of the pages: " + dir);
  process.exit(1);
});

export async function newPage(url) {
  const page = await context.newPage();
  page.on("pageerror", (e) => wrong.push(e.message));
  page.on("dialog", (d) => (wrong.push("dialog: " + d.message()), d.dismiss()));
  page.on("console", (m) => m.type() === "error" && !/ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY|ERR_NETWORK|503|Failed to load resource/.test(m.text()) && wrong.push(m.text()));
  // Nothing is asked of anybody but the server.
  page.on("request", (r) => new URL(r.url()).host !== new URL(link).host && !/^(data|blob|about):/.test(r.url()) && wrong.push("request: " + r.url()));
  page.on("request", asks);
  page.on("response", (r) => r.status() >= 400 && /^(image|document|script|stylesheet|font)$/.test(r.request().resourceType()) && wrong.push(`${r.status()} for the ${r.request().resourceType()} ${r.url()}`));
  if (url) await page.goto(url);
  return page;
}

const paths = JSON.parse(fs.readFileSync(new URL("../../../docs/openapi.json", import.meta.url), "utf8")).paths;

/** What the page asks of the API is described there: the way, and each parameter. */
function asks(request) {
  const url = new URL(request.url());
  if (!url.pathname.startsWith("/api/")) return;
  const segments = url.pathname.split("/");
  const fits = (path) => path.split("/").length === segments.length && path.split("/").every((s, i) => s === segments[i] || (s.startsWith("{") && segments[i]));
  const fixed = (path) => path.split("/").filter((s) => !s.startsWith("{")).length;
  const path = Object.keys(paths).filter(fits).sort((a, b) => fixed(b) - fixed(a))[0];
  const known = (paths[path]?.[request.method().toLowerCase()]?.parameters ?? []).filter((p) => p.in === "query").map((p) => p.name);
  for (const name of new Set(url.searchParams.keys())) if (!known.includes(name)) wrong.push(`request: ${request.method()} ${path ?? url.pathname} has no parameter ${name}`);
}

export async function picture(page, name) {
  if (pictures) await page.screenshot({ path: path.join(pictures, name + ".png") });
}

/** Nothing is wider than the window. */
export async function fits(page, what) {
  if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) wrong.push(what + ": it is wider than the window");
}

/** axe finds nothing at all, or over() tells. */
export async function accessible(page, what) {
  await page.evaluate(axe); // as the debugger does, since the page lets no foreign script in
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  for (const v of found.violations) wrong.push([what, v.id, ...v.nodes.map((n) => n.html.slice(0, 200))]);
}

export async function over() {
  assert.deepEqual(wrong, []);
  await browser.close();
  console.log("ok");
  process.exit(0); // whatever still listens
}
