// The feed of all tabs of a browser: a SharedWorker, which lives as long as one of them.

import { Feed, type News } from "./feed";
import type { Asked } from "./stream";

const ports = new Set<MessagePort>();
const follows = new Map<MessagePort, Set<string>>();

/** News of a session go to those who follow it. */
function tell(news: News): void {
  for (const p of ports) if (!("session" in news) || follows.get(p)?.has(news.session)) p.postMessage(news);
}

const feed = new Feed((url) => new EventSource(url), tell);

function part(port: MessagePort): void {
  for (const id of follows.get(port) ?? []) feed.leave(id);
  follows.delete(port);
  ports.delete(port);
  if (!ports.size) feed.close();
}

function asked(port: MessagePort, a: Asked): void {
  switch (a.kind) {
    case "join":
      follows.get(port)?.add(a.session);
      return feed.join(a.session, a.after);
    case "leave":
      if (follows.get(port)?.delete(a.session)) feed.leave(a.session);
      return;
    case "wake":
      return feed.wake();
    case "retry":
      return feed.retry();
    case "part":
      return part(port);
  }
}

addEventListener("connect", (ev) => {
  const port = (ev as MessageEvent).ports[0]!;
  ports.add(port);
  follows.set(port, new Set());
  port.onmessage = (m) => asked(port, m.data);
  feed.start();
});
