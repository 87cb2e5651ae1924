// The service worker: the page opens without the server, and messages of the server are shown while it is closed.
//
// What the server answers comes first, always, so that an update shows at once; what was kept is for when there is no server.
// Only the page and its own files are kept: see shell.ts.

import { readPushed, shellName } from "./lib/shell";

/** The parts of a service worker that this one uses; the types of the page do not have them. */
interface Worker {
  location: Location;
  registration: { showNotification(title: string, options: object): Promise<void> };
  clients: {
    claim(): Promise<void>;
    matchAll(o: object): Promise<{ url: string; focused: boolean; focus(): Promise<unknown>; navigate(url: string): Promise<unknown> }[]>;
    openWindow(url: string): Promise<unknown>;
  };
  skipWaiting(): Promise<void>;
  addEventListener(type: string, f: (ev: Happened) => void): void;
}

interface Happened {
  request: Request;
  data: { text(): string } | null;
  notification: { close(): void; data: { path: string } };
  waitUntil(p: Promise<unknown>): void;
  respondWith(p: Promise<Response>): void;
}

const worker = globalThis as unknown as Worker;
const kept = "shell";

worker.addEventListener("install", (ev) => ev.waitUntil(worker.skipWaiting()));
worker.addEventListener("activate", (ev) => ev.waitUntil(worker.clients.claim()));

worker.addEventListener("fetch", (ev) => {
  const name = shellName(ev.request.method, ev.request.url, ev.request.mode, worker.location.origin);
  if (name) ev.respondWith(fresh(ev.request, name));
});

/** What the server answers, or without a server what it answered last. */
async function fresh(request: Request, name: string): Promise<Response> {
  const shell = await caches.open(kept);
  try {
    const got = await fetch(request);
    if (got.ok && !got.redirected) await shell.put(name, got.clone());
    return got;
  } catch (e) {
    const old = await shell.match(name);
    if (old) return old;
    throw e;
  }
}

worker.addEventListener("push", (ev) => ev.waitUntil(show(ev.data?.text() ?? "")));

/** Shows a message, unless the person looks at the page already. */
async function show(text: string): Promise<void> {
  const p = readPushed(text);
  if (!p) return;
  const open = await worker.clients.matchAll({ type: "window" });
  if (open.some((w) => w.focused)) return;
  await worker.registration.showNotification(p.title, { body: p.text, tag: p.session, icon: "/icon-192.png", badge: "/icon-192.png", data: { path: p.path } });
}

worker.addEventListener("notificationclick", (ev) => {
  ev.notification.close();
  ev.waitUntil(go(ev.notification.data.path));
});

/** Goes to a place of the page, in a window that is open if there is one. A link that decides a call gets a window of its own. */
async function go(path: string): Promise<void> {
  const [first] = path.startsWith("/#") ? await worker.clients.matchAll({ type: "window" }) : [];
  if (!first) await worker.clients.openWindow(path);
  else await first.navigate(path).then(() => first.focus());
}
