// One stream of events for all sessions that a browser shows. A browser opens
// six connections to a server at most: with a stream for each tab, the seventh
// would be dead, and every other with it.

import type { Event } from "./events";

/** What the stream tells those who follow a session. */
export type News =
  | { kind: "event"; session: string; event: Event }
  | { kind: "gone"; session: string; detail: string } // it does not exist
  | { kind: "sessions" } // the list of sessions has changed
  | { kind: "begun" } // the stream begins anew: what was of the moment may come once more
  | { kind: "lost"; retry: number }; // the connection is lost; the next try is in so many milliseconds

/** The part of an EventSource that is needed. */
export interface Source {
  addEventListener(type: string, f: (ev: { data?: string }) => void): void;
  close(): void;
}

const silence = 9_000; // milliseconds without a beat, after which the connection counts as dead; the server beats every 4 s
const suspicious = 5_000; // the same, when the machine wakes up or the network is back
const first = 1_000; // before the first try after a loss
const last = 5_000; // before later tries

/**
 * Follows sessions over one stream, which it opens again when it ends, falls
 * silent, or another session is followed. Each session goes on after the last
 * event that came, so that none is lost; one that comes twice is dropped.
 */
export class Feed {
  #after = new Map<string, number>(); // the last event of each session that came
  #users = new Map<string, number>(); // how many follow it
  #source: Source | null = null;
  #heard = 0; // when
  #tries = 0;
  #again: ReturnType<typeof setTimeout> | undefined;
  #watch: ReturnType<typeof setInterval> | undefined;

  constructor(
    readonly open: (url: string) => Source,
    readonly tell: (news: News) => void,
  ) {}

  /** The address of the stream for what is followed now. */
  get url(): string {
    const names = [...this.#after].map(([id, after]) => "session=" + encodeURIComponent(`${after}:${id}`));
    return "api/v1/events" + (names.length ? "?" + names.join("&") : "");
  }

  /** Follows a session from after an event. Earlier events may come again, for those who join. */
  join(session: string, after: number): void {
    this.#users.set(session, (this.#users.get(session) ?? 0) + 1);
    this.#after.set(session, Math.min(after, this.#after.get(session) ?? after));
    this.#connectIn(20); // several may join at once
  }

  leave(session: string): void {
    const left = (this.#users.get(session) ?? 1) - 1;
    if (left > 0) return void this.#users.set(session, left);
    this.#users.delete(session);
    this.#after.delete(session);
  }

  /** Opens the stream for the list of sessions, even if none is followed. */
  start(): void {
    if (!this.#source) this.#connectIn(0);
  }

  /** Looks whether the connection lives: the machine was asleep, or the network is back. */
  wake(): void {
    if (Date.now() - this.#heard > suspicious) this.#connectIn(0);
  }

  /** Connects at once. */
  retry(): void {
    this.#connectIn(0);
  }

  close(): void {
    clearTimeout(this.#again);
    clearInterval(this.#watch);
    this.#source?.close();
    this.#source = null;
  }

  #connectIn(ms: number): void {
    clearTimeout(this.#again);
    this.#again = setTimeout(() => this.#connect(), ms);
  }

  #connect(): void {
    this.close();
    this.#heard = Date.now();
    const source = this.open(this.url);
    this.#source = source;
    this.#watch = setInterval(() => Date.now() - this.#heard > silence && this.#lose(), 1000);
    const on = (type: string, f: (data: string) => void) =>
      source.addEventListener(type, (ev) => {
        if (source !== this.#source) return; // it was given up
        this.#heard = Date.now();
        f(ev.data ?? "{}");
      });
    on("open", () => ((this.#tries = 0), this.tell({ kind: "begun" })));
    on("beat", () => undefined);
    on("sessions", () => this.tell({ kind: "sessions" }));
    on("event", (data) => this.#event(JSON.parse(data)));
    on("gone", (data) => this.#gone(JSON.parse(data)));
    source.addEventListener("error", () => source === this.#source && this.#lose());
  }

  #event({ session, event }: { session: string; event: Event }): void {
    const had = this.#after.get(session);
    if (had === undefined) return; // nobody follows it any more
    event.seq ??= 0;
    if (event.seq > 0) {
      if (event.seq <= had) return;
      this.#after.set(session, event.seq);
    }
    this.tell({ kind: "event", session, event });
  }

  #gone({ session, detail }: { session: string; detail: string }): void {
    this.#after.delete(session);
    this.#users.delete(session);
    this.tell({ kind: "gone", session, detail });
  }

  #lose(): void {
    this.close();
    const retry = this.#tries++ === 0 ? first : last;
    this.tell({ kind: "lost", retry });
    this.#connectIn(retry);
  }
}
