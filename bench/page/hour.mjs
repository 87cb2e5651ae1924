// An hour of streaming, as fast as the page takes it: does its heap stay flat?
//
//   node hour.mjs LINK SESSION [DELTAS]     360,000 by default: a hundred a second for an hour
//
// LINK is what openmanus serve prints, SESSION one of its sessions, that of `go run ./cmd/fill -name hour -steps 1`. A server of
// our own stands between the page and openmanus: it passes everything on but the stream of events, and streams replies of a
// thousand pieces, each with a call that prints, to that session, the next when the page has drawn the last one. What the page keeps of a reply
// is its text, so after a tenth and at the end the heap, without garbage, may differ by a few times the text in between.
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(import.meta.dirname, "../../bin/playwright/x.js"));
const { chromium } = require("playwright-core");
const [link, session, deltas = "360000"] = process.argv.slice(2);
const each = 1000; // pieces of a reply
const replies = Math.round(Number(deltas) / each);

let seq = 0; // of the last event
let feed = null; // the stream of the page
let turn = 0;
let sent = 0; // bytes of text

const proxy = http.createServer((req, res) => {
  const url = new URL(req.url, link);
  if (url.pathname === "/api/v1/events") {
    res.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    res.write("event: beat\ndata: {}\n\n");
    feed = res;
    return;
  }
  const headers = { ...req.headers, "accept-encoding": "identity" };
  delete headers.host;
  delete headers.origin;
  const up = http.request(url, { method: req.method, headers }, (from) => {
    if (url.pathname !== "/api/v1/sessions/" + session) {
      res.writeHead(from.statusCode, from.headers);
      return void from.pipe(res);
    }
    let text = "";
    from.setEncoding("utf8").on("data", (d) => (text += d)).on("end", () => {
      const { "content-length": _, ...rest } = from.headers;
      res.writeHead(from.statusCode, rest);
      res.end(text.replace(/"status":"\w+"/, '"status":"running"')); // it is what streams
    });
  });
  up.on("error", () => res.destroy());
  req.pipe(up);
});
await new Promise((done) => proxy.listen(0, "127.0.0.1", done));
setInterval(() => feed?.write("event: beat\ndata: {}\n\n"), 3000).unref();

const write = (event) => feed.write(`event: event\ndata: ${JSON.stringify({ session, event: { time: new Date().toISOString(), ...event } })}\n\n`) || new Promise((f) => feed.once("drain", f));
const stored = (type, body) => write({ seq: ++seq, type, body });

const words = "the quick **brown** fox jumps over `the lazy` dog, and then ".split(/(?<= )/);
const piece = (i) => (i % 100 === 99 ? ".\n\n" : i % 100 < 4 && i % 300 < 100 ? "- " + words[i % words.length] + "\n" : words[i % words.length]);

async function reply(n) {
  let text = "";
  for (let i = 0; i < each; i++) {
    const part = piece(i);
    text += part;
    await write({ seq: 0, type: "typing", body: { turn, parts: [{ type: "text", text: part }] } });
  }
  sent += text.length;
  const call = "hour_" + n;
  const parts = [{ type: "text", text }, { type: "call", id: call, name: "bash", input: `{"command":"step ${n}"}` }];
  await stored("model_said", { turn: turn++, message: { role: "assistant", parts } });
  await stored("ruled", { call, allow: true, by: "gate" });
  await stored("call_started", { call });
  for (let i = 0; i < 20; i++) await write({ seq: 0, type: "output", body: { call, text: `\x1b[32mline ${i}\x1b[0m of ${n}\r\n` } });
  await stored("call_done", { call, parts: [{ type: "text", text: `done with ${n}\n` }] });
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
await page.addInitScript(() => delete globalThis.SharedWorker); // all of the feed is in the heap that is measured
const base = `http://127.0.0.1:${proxy.address().port}/`;
await page.goto(base + new URL(link).search);
const log = await (await page.request.get(`${base}api/v1/sessions/${session}/log?last=1`)).json();
seq = log.items[0].seq;
turn = 1000;
await page.goto(`${base}#/s/${session}`);
await page.getByText("is settled").first().waitFor();
while (!feed) await page.waitForTimeout(100);

const cdp = await page.context().newCDPSession(page);
await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
async function look() {
  await cdp.send("HeapProfiler.collectGarbage");
  const { usedSize } = await cdp.send("Runtime.getHeapUsage");
  const all = Object.fromEntries((await cdp.send("Performance.getMetrics")).metrics.map((m) => [m.name, m.value]));
  return { heap: usedSize / 1e6, nodes: all.Nodes, listeners: all.JSEventListeners, script: all.ScriptDuration, layout: all.LayoutDuration + all.RecalcStyleDuration, text: sent / 1e6 };
}

const rows = [await look()];
console.log("| part | text MB | heap MB | nodes | listeners | script s | layout s |\n| ---- | ------- | ------- | ----- | --------- | -------- | -------- |");
for (let tenth = 1; tenth <= 10; tenth++) {
  for (let n = Math.round(((tenth - 1) * replies) / 10); n < Math.round((tenth * replies) / 10); n++) {
    await reply(n);
    await page.waitForFunction((n) => document.querySelector(".flow")?.textContent.includes("step " + n), n, { polling: 50 });
  }
  const r = await look();
  rows.push(r);
  console.log(`| ${(tenth * 10 + " %").padStart(5)} | ${[r.text.toFixed(2), r.heap.toFixed(1), r.nodes, r.listeners, r.script.toFixed(1), r.layout.toFixed(1)].join(" | ")} |`);
}
await browser.close();
proxy.close();
proxy.closeAllConnections();

const [, early] = rows;
const late = rows.at(-1);
const most = 4 * (late.text - early.text) + 4;
const wrong = [];
if (late.heap - early.heap > most) wrong.push(`the heap grew by ${(late.heap - early.heap).toFixed(1)} MB, more than ${most.toFixed(1)}`);
if (late.nodes > 1.5 * early.nodes + 2000) wrong.push(`there are ${late.nodes} nodes, and there were ${early.nodes}`);
if (late.listeners > 1.5 * early.listeners + 200) wrong.push(`there are ${late.listeners} listeners, and there were ${early.listeners}`);
console.log(wrong.length ? wrong.join("\n") : `flat: ${(late.heap - early.heap).toFixed(1)} MB for ${(late.text - early.text).toFixed(1)} MB of text`);
process.exit(wrong.length ? 1 : 0);
