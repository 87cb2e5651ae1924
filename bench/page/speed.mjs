// How long the page takes, in a Chromium without a window:
//
//   node speed.mjs LINK SESSION [RUNS]           opens a long session, and scrolls through it
//   node speed.mjs LINK SESSION live -- FILL…    follows a session while FILL… writes to it
//
//   node speed.mjs LINK SESSION fold             opens the fold of a long session, and scrolls through it
//
// Following types meanwhile, and says how the heap grew; with HEAP=1 every ten seconds, which takes time itself. A task's time is that of its processor, so
// that what else the machine does counts little.
//
// LINK is what openmanus serve prints. playwright-core is in bin/playwright,
// where make deps puts it. PROFILE=FILE keeps what the processor did.
import { spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(import.meta.dirname, "../../bin/playwright/x.js"));
const { chromium } = require("playwright-core");
const [link, session, how = "5", , ...fill] = process.argv.slice(2);

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
await (await context.newPage()).goto(link); // for the cookie, and to have the browser warm
const address = new URL("/#/s/" + session, link).href;
const median = (all) => all.toSorted((a, b) => a - b)[all.length >> 1];
const ms = (n) => Math.round(n).toString().padStart(6);

// Notes every frame that is drawn, and whatever keeps the page busy for more than 50 ms.
const watch = () => {
  globalThis.frames_ = [];
  globalThis.busy_ = [];
  new PerformanceObserver((l) => l.getEntries().forEach((e) => globalThis.busy_.push(e.duration))).observe({ type: "longtask", buffered: true });
  const frame = (now) => (globalThis.frames_.push(now), requestAnimationFrame(frame));
  requestAnimationFrame(frame);
};
// What the page's own thread computed, task by task, while what() ran.
async function tasks(page, what) {
  await browser.startTracing(page, { categories: ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"] });
  const out = await what();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const main = new Set(traceEvents.filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain").map((e) => e.pid + "/" + e.tid));
  const own = traceEvents.filter((e) => main.has(e.pid + "/" + e.tid));
  const keys = own.filter((e) => e.name === "EventDispatch" && /^(key|input|beforeinput|textInput)/.test(e.args?.data?.type ?? "")).map((e) => e.ts);
  const took = traceEvents.filter((e) => e.ph === "X" && e.name.endsWith("::RunTask") && main.has(e.pid + "/" + e.tid)).map((e) => (e.tdur ?? e.dur) / 1000).sort((a, b) => b - a);
  const over = (n) => took.filter((t) => t > n).length;
  // The tasks in which keys were handled; drawing what they typed is a task of its own, as all frames are.
  const ofKeys = own.filter((e) => e.ph === "X" && e.name.endsWith("::RunTask") && keys.some((k) => k >= e.ts && k <= e.ts + e.dur)).map((e) => (e.tdur ?? e.dur) / 1000).sort((a, b) => b - a);
  if (ofKeys.length) console.log(`keys: ${ofKeys.length} tasks, median${ms(median(ofKeys))} ms, longest${ms(ofKeys[0])} ms; ${ofKeys.filter((t) => t > 16).length} over 16 ms`);
  console.log(`${took.length} tasks, longest${ms(took[0] ?? 0)} ms${traceEvents.some((e) => e.tdur) ? " of its processor" : ""}; ${over(16)} over 16 ms, ${over(50)} over 50 ms, ${over(100)} over 100 ms`);
  return out;
}

async function fold() {
  const { page } = await opened();
  await page.waitForTimeout(3000); // the whole session is read
  await tasks(page, async () => {
    await page.locator("button.fold").first().click();
    await page.evaluate(() => (document.querySelector(".flow").scrollTop = 1e9));
    await page.evaluate(async () => {
      const list = document.querySelector(".flow");
      for (let still = 0; still < 30; ) {
        const was = list.scrollTop;
        list.scrollTop -= 600;
        await new Promise(requestAnimationFrame);
        still = list.scrollTop === was ? still + 1 : 0;
      }
    });
  });
  console.log(`at the beginning: ${(await page.evaluate(() => document.querySelector(".folded")?.innerText ?? "")).slice(0, 60).replaceAll("\n", " ")}; ${await page.evaluate(() => document.querySelectorAll("*").length)} elements`);
}

const gaps = (frames) => frames.slice(1).map((f, i) => f - frames[i]).sort((a, b) => a - b);
const drawn = (frames) => {
  const g = gaps(frames);
  return `${g.length} frames, median${ms(g[g.length >> 1])}, 99 %${ms(g[Math.floor(g.length * 0.99)])}, longest${ms(g.at(-1))} ms`;
};

async function profiled(page, what) {
  if (!process.env.PROFILE) return what();
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Profiler.enable");
  await cdp.send("Profiler.start");
  const out = await what();
  const { profile } = await cdp.send("Profiler.stop");
  fs.writeFileSync(process.env.PROFILE, JSON.stringify(profile));
  return out;
}

// From the beginning of the navigation until the session's last words are drawn.
async function opened() {
  const page = await context.newPage();
  await page.addInitScript(watch);
  await page.addInitScript(() => {
    const look = () => (document.body?.innerText.includes("is settled") ? requestAnimationFrame(() => (globalThis.there_ = performance.now())) : requestAnimationFrame(look));
    requestAnimationFrame(look);
  });
  await profiled(page, async () => {
    await page.goto(address);
    await page.waitForFunction(() => globalThis.there_);
  });
  const [paint, there, busy] = await page.evaluate(() => [performance.getEntriesByName("first-contentful-paint")[0]?.startTime, globalThis.there_, globalThis.busy_]);
  return { page, paint, there, busy };
}

async function open(runs) {
  const all = [];
  for (let i = 0; i < runs; i++) {
    const one = await opened();
    all.push(one);
    console.log(`first paint${ms(one.paint)} ms, open${ms(one.there)} ms, busy for${ms(one.busy.reduce((a, b) => a + b, 0))} ms, at most${ms(Math.max(0, ...one.busy))} ms`);
    if (i < runs - 1) await one.page.close();
  }
  console.log(`median: first paint${ms(median(all.map((o) => o.paint)))} ms, open${ms(median(all.map((o) => o.there)))} ms`);
  const { page } = all.at(-1);
  const scrolled = await page.evaluate(async () => {
    const list = document.querySelector(".flow");
    const frames = [];
    // Upwards by 60 pixels a frame, which is a fast wheel.
    await new Promise((done) => {
      const step = (now) => {
        frames.push(now);
        list.scrollTop -= 60;
        frames.length < 300 ? requestAnimationFrame(step) : done();
      };
      requestAnimationFrame(step);
    });
    const moved = performance.now();
    list.scrollTop = 0;
    await new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f)));
    return { frames, first: list.innerText.slice(0, 400), jump: performance.now() - moved, elements: document.querySelectorAll("*").length };
  });
  console.log(`scrolling: ${drawn(scrolled.frames)}; to the top${ms(scrolled.jump)} ms; ${scrolled.elements} elements`);
}

async function follow() {
  const page = await context.newPage();
  await page.addInitScript(watch);
  const writer = spawn(fill[0], fill.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
  await new Promise((f) => writer.stdout.once("data", f)); // it made the session, and waits
  await page.goto(address);
  await page.getByText("I look at the").first().waitFor();
  await page.evaluate(() => ((globalThis.frames_.length = 0), (globalThis.busy_.length = 0)));
  const began = Date.now();
  const cdp = await page.context().newCDPSession(page);
  const heap = async () => (await cdp.send("HeapProfiler.collectGarbage"), (await cdp.send("Runtime.getHeapUsage")).usedSize / 1e6);
  const heaps = [await heap()];
  await page.evaluate(() => {
    globalThis.keys_ = [];
    new PerformanceObserver((l) => l.getEntries().forEach((e) => e.name === "keydown" && globalThis.keys_.push(e.duration))).observe({ type: "event", durationThreshold: 16 });
  });
  const over = await (process.env.HEAP ? (page, what) => what() : tasks)(page, () => profiled(page, async () => {
    writer.stdin.end("\n");
    let running = true;
    const ended = new Promise((f) => writer.once("exit", () => ((running = false), f())));
    await page.getByRole("textbox", { name: "Message" }).focus();
    let typed = 0;
    for (let next = Date.now() + 10_000; running; typed++) {
      await page.keyboard.press("x");
      if (process.env.HEAP && Date.now() > next) (heaps.push(await heap()), (next += 10_000));
      await page.waitForTimeout(100);
    }
    await ended;
    const slow = await page.evaluate(() => globalThis.keys_);
    console.log(`typing: ${typed} keys; of ${slow.length} that took 16 ms and more until they were drawn the median is${ms(median(slow))} ms, 95 %${ms(slow.toSorted((a, b) => a - b)[Math.floor(slow.length * 0.95)])} ms, the longest${ms(Math.max(...slow))} ms`);
    const over = Date.now();
    await page.getByText("is settled").first().waitFor();
    return over;
  }));
  console.log(`heap: ${[...heaps, await heap()].map((h) => h.toFixed(1)).join(", ")} MB`);
  const [frames, busy] = await page.evaluate(() => [globalThis.frames_, globalThis.busy_]);
  console.log(`written in${ms(over - began)} ms, drawn${ms(Date.now() - over)} ms after that`);
  console.log(`meanwhile: ${drawn(frames)}; ${busy.length} tasks of more than 50 ms, at most${ms(Math.max(0, ...busy))} ms`);
}

await (how === "live" ? follow() : how === "fold" ? fold() : open(Number(how)));
await browser.close();
