// The session on the screen: its events as they come, and its status.

import { flushSync } from "svelte";
import { api, Refused, type Session } from "./api";
import type { News } from "./feed";
import { works } from "./status";
import { stream } from "./stream";
import { apply, empty, takeMoment, upTo, type Event, type Item, type View } from "./events";

// Of a long session, the last events are read and shown first.
const newest = 300;
const piece = 2000; // events that are read at a time

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

export class Live {
  readonly id: string;
  info = $state.raw<Session | null>(null);
  children = $state.raw<Session[]>([]); // those that this one asked for
  view = $state.raw<View>(empty());
  error = $state("");
  online = $state(true);
  retryAt = $state(0); // when the connection is tried again
  awaited = $state(false); // it does not exist yet, and its parent is running
  at = $state<number | null>(null); // the event that is looked at; null: now
  first = $state(1); // of the events that were read

  #events: Event[] = [];
  #now: View = empty();
  #items: Item[] = []; // of now, as they were drawn
  #stirred = true; // they have changed since
  #leave: (() => void) | null = null;
  #stale = false; // the feed has begun anew since the last piece that was typed
  #filling = false;
  #drawing = 0;
  #rest = 0; // until then nothing is drawn again
  #drawn = 0; // when it was
  #typed = -Infinity; // when a key was pressed
  #refreshing = 0;
  #reading = false;
  #closed = false;
  #moved: (s: Session) => void;

  /** moved is told whenever the session stands differently. */
  constructor(id: string, moved: (s: Session) => void) {
    this.id = id;
    this.#moved = moved;
    addEventListener("keydown", this.#pressed, true);
    void this.#load();
  }

  /** The events that were read, in order. A new array begins when earlier ones are read. */
  get events(): readonly Event[] {
    return this.#events;
  }

  get last(): number {
    return this.#events.at(-1)?.seq ?? 0;
  }

  time(seq: number): string {
    return this.#events[seq - this.first]?.time ?? "";
  }

  async #load(): Promise<void> {
    try {
      for (const ev of await this.#begun()) this.#add(ev);
    } catch (e) {
      this.error = String(e instanceof Error ? e.message : e);
      if (e instanceof Refused) return;
    }
    this.first = this.#events[0]?.seq ?? 1;
    this.#draw();
    if (this.#closed) return;
    this.#follow();
    void this.refresh();
  }

  // Reads the newest events. If the session does not exist yet, waits for it as
  // long as its parent, which is about to open it, is running.
  async #begun(): Promise<Event[]> {
    for (;;) {
      try {
        const events = await api.newest(this.id, newest);
        this.awaited = false;
        return events;
      } catch (e) {
        const parent = this.id.slice(0, this.id.lastIndexOf("."));
        if (!(e instanceof Refused) || e.status !== 404 || !parent || this.#closed) throw e;
        const of = await api.session(parent).catch(() => null);
        this.awaited = !!of && works(of.status);
        if (!this.awaited) throw e;
      }
      await pause(1000);
    }
  }

  // Reads the earlier events and folds all of them.
  async #before(): Promise<void> {
    if (this.#reading || this.first === 1) return;
    this.#reading = true;
    try {
      const old: Event[] = [];
      while (old.length < this.first - 1 && !this.#closed) {
        const more = await api.log(this.id, old.length, Math.min(piece, this.first - 1 - old.length));
        if (!more.length) break;
        for (const ev of more) old.push(ev);
      }
      this.#events = old.concat(this.#events);
      this.first = 1;
      const v = upTo(this.#events, this.last);
      takeMoment(v, this.#now);
      this.#now = v;
      this.#stirred = true;
      this.#draw();
    } catch (e) {
      if (e instanceof Refused) this.error = e.message; // otherwise it is tried again when we are connected again
    }
    this.#reading = false;
  }

  // The feed goes on after the last event by itself, whatever happens to the connection.
  #follow(): void {
    this.#leave = stream.follow(this.id, () => this.last, (news) => this.#hear(news));
  }

  #hear(news: News): void {
    switch (news.kind) {
      case "begun":
        this.online = true;
        this.#stale = true;
        void this.refresh();
        void this.#before();
        break;
      case "lost":
        this.online = false;
        this.retryAt = Date.now() + news.retry;
        break;
      case "gone":
        this.error = news.detail;
        break;
      case "sessions": // events of child sessions are not among those of this one
        if (this.children.length && this.info && works(this.info.status)) void this.refresh();
        break;
      case "event":
        this.#take(news.event);
    }
  }

  #take(ev: Event): void {
    if (ev.seq > 0 && ev.seq <= this.last) return; // seen before
    if (ev.seq > this.last + 1) return void this.#fill();
    // What is typed comes whole again after the feed has begun anew.
    if (this.#stale && ev.type === "typing") {
      this.#stale = false;
      this.#now.typing = null;
    }
    this.#add(ev);
    this.#soon();
    if (ev.seq > 0) void this.refresh();
  }

  // Reads events that this tab has missed and another one of the browser has not.
  async #fill(): Promise<void> {
    if (this.#filling) return;
    this.#filling = true;
    try {
      for (const ev of await api.log(this.id, this.last, piece)) if (ev.seq === this.last + 1) this.#add(ev);
      this.#soon();
      void this.refresh();
    } catch {
      // the next event tries again
    }
    this.#filling = false;
  }

  #add(ev: Event): void {
    if (ev.seq > 0) this.#events.push(ev);
    if (ev.type !== "typing") this.#stirred = true;
    apply(this.#now, ev);
  }

  #pressed = (): void => void (this.#typed = performance.now());

  // Update at most thirty times a second, and rarer where that takes long, so that most of the time is left to the person.
  // While they type, ten times a second, and after a key what it wrote is drawn first.
  #soon(): void {
    this.#drawing ||= requestAnimationFrame((now) => {
      this.#drawing = 0;
      const began = performance.now();
      const typed = began - this.#typed;
      if (began < this.#rest || (typed < 40 && began < this.#drawn + 300)) return this.#soon();
      flushSync(() => this.#draw());
      this.#drawn = performance.now();
      this.#rest = Math.max(now + (typed < 1000 ? 90 : 30), this.#drawn + Math.min(500, 3 * (this.#drawn - began)));
    });
  }

  #draw(): void {
    cancelAnimationFrame(this.#drawing);
    this.#drawing = 0;
    if (this.at !== null) return;
    // The list of items grows in place: shown as it is, the whole reply would stand beside what was typed of it.
    // While only what is typed grows, the list stays the same, and what follows from it is not looked at again.
    if (this.#stirred) this.#items = [...this.#now.items];
    this.#stirred = false;
    this.view = { ...this.#now, items: this.#items };
  }

  /** Looks at the session as it was after an event, or as it is. */
  look(at: number | null): void {
    this.at = at !== null && at >= this.last ? null : at;
    if (this.at === null) this.#draw();
    else this.view = upTo(this.#events, this.at);
  }

  /** Asks how the session stands: at once, and where that is asked often, a few times a second. */
  async refresh(): Promise<void> {
    if (this.#closed || this.#refreshing++ > 0) return;
    do {
      this.#refreshing = 1;
      try {
        const info = await api.session(this.id);
        this.children = info.children?.length ? await api.below(this.id) : [];
        const before = this.info?.status;
        this.info = info;
        this.error = "";
        if (before !== info.status) this.#moved(info);
      } catch (e) {
        if (e instanceof Refused) this.error = e.message; // otherwise we are offline, which is shown
      }
      if (this.#refreshing > 1) await pause(300);
    } while (this.#refreshing > 1 && !this.#closed);
    this.#refreshing = 0;
  }

  close(): void {
    this.#closed = true;
    this.#leave?.();
    removeEventListener("keydown", this.#pressed, true);
    cancelAnimationFrame(this.#drawing);
  }
}
