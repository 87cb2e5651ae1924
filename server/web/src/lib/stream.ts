// The page's end of the feed: over a SharedWorker, or, where there is none, its own.

import { Feed, type News } from "./feed";

/** What a tab asks of the worker. */
export type Asked = { kind: "join"; session: string; after: number } | { kind: "leave"; session: string } | { kind: "wake" } | { kind: "retry" } | { kind: "part" };

type Listener = (news: News) => void;

const patience = 30_000; // milliseconds after which a tab out of sight closes a feed of its own

class Stream {
  #listeners = new Set<Listener>();
  #joined = new Map<string, () => number>(); // the last event that each follower has
  #ask: ((a: Asked) => void) | null = null;

  /** Hears all news from now on; the result ends it. */
  listen(f: Listener): () => void {
    this.#begin();
    this.#listeners.add(f);
    return () => this.#listeners.delete(f);
  }

  /** Follows a session. has says which event the follower has, whenever the feed begins anew. The result ends it. */
  follow(session: string, has: () => number, f: Listener): () => void {
    const deaf = this.listen((n) => (!("session" in n) || n.session === session) && f(n));
    this.#joined.set(session, has);
    this.#ask!({ kind: "join", session, after: has() });
    return () => {
      deaf();
      this.#joined.delete(session);
      this.#ask!({ kind: "leave", session });
    };
  }

  /** Looks whether the connection lives. */
  wake(): void {
    this.#ask?.({ kind: "wake" });
  }

  /** Connects at once. */
  retry(): void {
    this.#ask?.({ kind: "retry" });
  }

  #tell = (news: News): void => {
    for (const f of [...this.#listeners]) f(news);
  };

  #begin(): void {
    if (this.#ask) return;
    this.#ask = "SharedWorker" in globalThis ? this.#shared() : this.#own();
    for (const type of ["online", "pageshow", "focus"]) addEventListener(type, () => this.wake());
    document.addEventListener("visibilitychange", () => document.hidden || this.wake());
  }

  /** A worker that ended, or a page that comes back from the browser's cache, begins anew. */
  #shared(): (a: Asked) => void {
    let port: MessagePort;
    const connect = () => {
      const worker = new SharedWorker(new URL("./feed.worker.ts", import.meta.url), { type: "module", name: "openmanus feed 1" });
      port = worker.port;
      port.onmessage = (m) => this.#tell(m.data);
    };
    connect();
    addEventListener("pagehide", () => port.postMessage({ kind: "part" } satisfies Asked));
    addEventListener("pageshow", (ev) => {
      if (!ev.persisted) return;
      connect();
      for (const [session, has] of this.#joined) port.postMessage({ kind: "join", session, after: has() } satisfies Asked);
    });
    return (a) => port.postMessage(a);
  }

  /** Out of sight, a feed of one's own is closed: the connections are few. */
  #own(): (a: Asked) => void {
    const feed = new Feed((url) => new EventSource(url), this.#tell);
    let away: ReturnType<typeof setTimeout> | undefined;
    document.addEventListener("visibilitychange", () => {
      clearTimeout(away);
      if (document.hidden) away = setTimeout(() => feed.close(), patience);
      else feed.wake();
    });
    feed.start();
    return (a) => {
      if (a.kind === "join") feed.join(a.session, a.after);
      else if (a.kind === "leave") feed.leave(a.session);
      else if (a.kind === "wake") feed.wake();
      else if (a.kind === "retry") feed.retry();
    };
  }
}

export const stream = new Stream();
