// A session that is on the screen: its events as they come, and how it stands.

import { api, Refused, type Session } from "./api";
import { apply, empty, upTo, type Event, type View } from "./events";

const types = [
  "opened", "configured", "user_said", "model_said", "model_failed", "stopped", "ended", "resumed", "interrupted", "asked", "answered", "ruled",
  "call_started", "call_done", "call_late", "child_opened", "child_done", "compacted", "elided", "taken", "titled", "noted", "typing", "output",
];

const works = (s: Session) => s.status === "running" || s.status === "waiting";

export class Live {
  readonly id: string;
  info = $state.raw<Session | null>(null);
  children = $state.raw<Session[]>([]); // those that this one asked for
  asking = $state.raw<Session[]>([]); // those below that wait for a person
  view = $state.raw<View>(empty());
  error = $state("");
  online = $state(true);
  at = $state<number | null>(null); // the event that is looked at; null: now

  #events: Event[] = [];
  #now: View = empty();
  #source: EventSource | null = null;
  #drawing = 0;
  #refreshing = 0;
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

  get last(): number {
    return this.#events.at(-1)?.seq ?? 0;
  }

  time(seq: number): string {
    return this.#events[seq - 1]?.time ?? "";
  }

  async #load(): Promise<void> {
    const stands = this.refresh();
    try {
      for (;;) {
        const more = await api.log(this.id, this.last);
        for (const ev of more) this.#add(ev);
        this.#draw();
        if (more.length < 10_000) break;
      }
      await stands;
    } catch (e) {
      this.error = String(e instanceof Error ? e.message : e);
      if (e instanceof Refused) return;
    }
    this.#draw();
    if (!this.#closed) this.#follow();
  }

  // The browser connects again by itself and says which event it has seen
  // last; only where it gives up do we.
  #follow(): void {
    const s = new EventSource(api.eventsURL(this.id, this.last));
    this.#source = s;
    s.onopen = () => {
      this.online = true;
      this.#now.typing = null;
      void this.refresh();
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
        this.#later();
        if (ev.seq > 0) void this.refresh();
      });
    }
  }

  #add(ev: Event): void {
    if (ev.seq > 0) this.#events.push(ev);
    apply(this.#now, ev);
  }

  #later(): void {
    this.#drawing ||= requestAnimationFrame(() => this.#draw());
  }

  #draw(): void {
    cancelAnimationFrame(this.#drawing);
    this.#drawing = 0;
    if (this.at === null) this.view = { ...this.#now, items: this.#now.items.slice(), calls: new Map(this.#now.calls) };
  }

  /** Looks at the session as it was after an event, or as it is. */
  look(at: number | null): void {
    this.at = at !== null && at >= this.last ? null : at;
    if (this.at === null) this.#draw();
    else this.view = upTo(this.#events, this.at);
  }

  /** Asks how the session stands; many questions at once are one. */
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
    } while (this.#refreshing > 1 && !this.#closed);
    this.#refreshing = 0;
    clearTimeout(this.#again);
    // What those below do is not among the events of this one.
    if (this.info && this.children.length && works(this.info) && !this.#closed) this.#again = setTimeout(() => void this.refresh(), 1500);
  }

  // Those below a session that wait for a person, itself not among them.
  async #waiting(of: Session, below: Session[]): Promise<Session[]> {
    if (!works(of)) return [];
    const all: Session[] = [];
    for (const c of below) {
      if (c.waiting?.length) all.push(c);
      if (c.children?.length && works(c)) all.push(...(await this.#waiting(c, await api.below(c.id))));
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
