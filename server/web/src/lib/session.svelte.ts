// The session on the screen: its events as they come, and its status.

import { api, Refused, type Session } from "./api";
import { works } from "./status";
import { apply, empty, takeMoment, upTo, type Event, type View } from "./events";

const types = [
  "opened", "configured", "user_said", "model_said", "called", "model_failed", "stopped", "ended", "resumed", "interrupted", "asked", "answered", "ruled",
  "call_started", "call_done", "call_late", "child_opened", "child_done", "compacted", "elided", "snapped", "rewound", "taken", "titled", "noted", "typing", "output",
];


// Of a long session, the last events are read and shown first.
const newest = 300;
const piece = 2000; // events that are read at a time

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

export class Live {
  readonly id: string;
  info = $state.raw<Session | null>(null);
  children = $state.raw<Session[]>([]); // those that this one asked for
  asking = $state.raw<Session[]>([]); // those below that wait for a person
  view = $state.raw<View>(empty());
  error = $state("");
  online = $state(true);
  awaited = $state(false); // it does not exist yet, and its parent is running
  at = $state<number | null>(null); // the event that is looked at; null: now
  first = $state(1); // of the events that were read

  #events: Event[] = [];
  #now: View = empty();
  #source: EventSource | null = null;
  #drawing = 0;
  #drawn = 0; // when
  #refreshing = 0;
  #reading = false;
  #again: ReturnType<typeof setTimeout> | undefined;
  #closed = false;
  #moved: (s: Session) => void;

  /** moved is told whenever the session stands differently. */
  constructor(id: string, moved: (s: Session) => void, recorded?: { session: Session; events: Event[] }) {
    this.id = id;
    this.#moved = moved;
    if (recorded) {
      this.info = recorded.session;
      for (const ev of recorded.events) this.#add(ev);
      this.#draw();
      return;
    }
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
      this.#draw();
    } catch (e) {
      if (e instanceof Refused) this.error = e.message; // otherwise it is tried again when we are connected again
    }
    this.#reading = false;
  }

  // The browser reconnects by itself, with the id of the last event; connect
  // again only if it has given up.
  #follow(): void {
    const s = new EventSource(api.eventsURL(this.id, this.last));
    this.#source = s;
    s.onopen = () => {
      this.online = true;
      this.#now.typing = null;
      void this.refresh();
      void this.#before();
    };
    s.onerror = () => {
      this.online = false;
      if (s.readyState === EventSource.CLOSED && !this.#closed) setTimeout(() => this.#closed || this.#follow(), 2000);
    };
    for (const t of types) {
      s.addEventListener(t, (e) => {
        const ev = JSON.parse((e as MessageEvent).data) as Event;
        if (ev.seq > 0 && ev.seq !== this.last + 1) return; // seen before
        this.#add({ ...ev, seq: ev.seq ?? 0 });
        this.#soon();
        if (ev.seq > 0) void this.refresh();
      });
    }
  }

  #add(ev: Event): void {
    if (ev.seq > 0) this.#events.push(ev);
    apply(this.#now, ev);
  }

  // Update at most thirty times a second.
  #soon(): void {
    this.#drawing ||= requestAnimationFrame((now) => {
      this.#drawing = 0;
      if (now - this.#drawn < 30) return this.#soon();
      this.#drawn = now;
      this.#draw();
    });
  }

  #draw(): void {
    cancelAnimationFrame(this.#drawing);
    this.#drawing = 0;
    if (this.at === null) this.view = { ...this.#now };
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
        this.asking = await this.#waiting(info, this.children);
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
    clearTimeout(this.#again);
    // The events of child sessions are not among those of this one.
    if (this.info && this.children.length && works(this.info.status) && !this.#closed) this.#again = setTimeout(() => void this.refresh(), 1500);
  }

  // The descendants of a session that wait for the user.
  async #waiting(of: Session, below: Session[]): Promise<Session[]> {
    if (!works(of.status)) return [];
    const all: Session[] = [];
    for (const c of below) {
      if (c.waiting?.length) all.push(c);
      if (c.children?.length && works(c.status)) all.push(...(await this.#waiting(c, await api.below(c.id))));
    }
    return all;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#again);
    this.#source?.close();
    cancelAnimationFrame(this.#drawing);
  }
}
