// The sessions of the person, for the rail and the pages that list them.

import { api, type Session } from "./api";
import { period } from "./format";
import type { Word } from "./i18n.svelte";
import { works } from "./status";
import { stream } from "./stream";

/** Sessions under a heading. */
export interface Group {
  title: Word;
  old: boolean; // it is about the past, and goes where there is little room
  items: Session[];
}

/** Sessions as the rail shows them: what needs the person, what runs, the others by day. */
export function groups(all: Session[], now: Date): Group[] {
  const found = new Map<Word, Session[]>();
  for (const s of all) {
    const asks = !!s.waiting?.length || !!s.below?.length;
    const title: Word = asks && works(s.status) ? "needsYou" : works(s.status) ? "running" : period(s.updated, now);
    found.set(title, [...(found.get(title) ?? []), s]);
  }
  const order: Word[] = ["needsYou", "running", "today", "yesterday", "thisWeek", "earlierDays"];
  return order.filter((o) => found.has(o)).map((title, i) => ({ title, old: order.indexOf(title) > 2 || i > 4, items: found.get(title)! }));
}

/** Sessions that may be of any age: those that run or wait for the person. */
async function underWay(): Promise<Session[]> {
  const all: Session[] = [];
  for (let after: string | undefined; ; ) {
    const page = await api.sessions({ status: ["running", "waiting"], after }, 200);
    all.push(...page.items);
    if (!page.next) return all;
    after = page.next;
  }
}

/** The sessions of both lists, each once, the most recently updated first. */
export function merged(a: Session[], b: Session[]): Session[] {
  const known = new Set(a.map((s) => s.id));
  return [...a, ...b.filter((s) => !known.has(s.id))].sort((x, y) => y.updated.localeCompare(x.updated));
}

/** A session in which nothing was said: not worth a line. */
const blank = (s: Session) => s.status === "idle" && !s.title;

class Sessions {
  all = $state.raw<Session[]>([]);
  known = $state(false);
  error = $state("");
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reading = false;
  #due = false; // the list has changed since it was read

  /** Keeps the list fresh for as long as the page is open; out of sight, it waits until the page is seen. */
  start(): void {
    stream.listen((n) => (n.kind === "sessions" || n.kind === "begun") && this.#soon());
    document.addEventListener("visibilitychange", () => this.#due && this.#soon());
    void this.refresh();
  }

  #soon(): void {
    this.#due = true;
    if (!document.hidden) this.#timer ??= setTimeout(() => ((this.#timer = undefined), void this.refresh()), 150);
  }

  async refresh(): Promise<void> {
    if (this.#reading) return void (this.#due = true);
    this.#reading = true;
    this.#due = false;
    try {
      const open = underWay();
      open.catch(() => undefined); // told below
      const newest = (await api.sessions({}, 60)).items;
      if (!this.known) this.all = newest.filter((s) => !blank(s)); // what is old comes when it comes
      this.all = merged(newest, await open).filter((s) => !blank(s));
      this.known = true;
      this.error = "";
    } catch (e) {
      this.error = e instanceof Error ? e.message : String(e);
    }
    this.#reading = false;
    if (this.#due) this.#soon();
  }

  /** Takes what is known of one session, so that the list need not be read again. */
  take(s: Session): void {
    if (s.parent) return;
    this.all = [s, ...this.all.filter((o) => o.id !== s.id)].sort((a, b) => b.updated.localeCompare(a.updated));
  }

  drop(id: string): void {
    this.all = this.all.filter((s) => s.id !== id);
  }
}

export const sessions = new Sessions();
