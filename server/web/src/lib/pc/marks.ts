// The marks of the slider: what happened when, in chapters.

import type { Event } from "../events";

export type MarkKind = "me" | "tick" | "edit" | "askd" | "err";

export interface Mark {
  seq: number;
  kind: MarkKind;
}

/**
 * The events of a session that stand out, and its chapters. Of events that are read again, because there are more of
 * them, only the new ones are looked at.
 */
export class Track {
  /** What the person said, calls, edits, failures, what was asked. */
  marks: Mark[] = [];
  #events: readonly Event[] = [];
  #read = 0;
  #at = new Map<string, Mark>(); // by call
  #said: number[] = [];
  #steps: { from: number; title: string }[] = []; // of the plan, when they were begun

  /** Reads events: those of before and more, or others. */
  read(events: readonly Event[]): this {
    if (events !== this.#events || events.length < this.#read) {
      this.#events = events;
      [this.#read, this.marks, this.#said, this.#steps] = [0, [], [], []];
      this.#at.clear();
    }
    for (; this.#read < events.length; this.#read++) this.#add(events[this.#read]!);
    return this;
  }

  #add(ev: Event): void {
    if (ev.type === "user_said") this.#said.push(ev.seq);
    this.#step(ev);
    const kind = kindOf(ev);
    if (!kind) return;
    const call: string = ev.body?.call ?? "";
    const before = call ? this.#at.get(call) : undefined;
    if (before && rank[kind] <= rank[before.kind]) return;
    if (before) this.marks.splice(this.marks.lastIndexOf(before), 1);
    const mark = { seq: ev.seq, kind };
    this.marks.push(mark);
    if (call) this.#at.set(call, mark);
  }

  #step(ev: Event): void {
    const d = ev.type === "call_done" ? ev.body.detail : null;
    if (!Array.isArray(d?.plans)) return;
    const plan = d.plans.find((p: { id: string }) => p.id === d.active) ?? d.plans.at(-1);
    const now = plan?.steps?.find((s: { status: string }) => s.status === "in_progress")?.text ?? "";
    if (now && String(now) !== this.#steps.at(-1)?.title) this.#steps.push({ from: ev.seq, title: String(now) });
  }

  /** The parts: one for each step of the plan that was begun, else one for each message of the person. */
  chapters(first: number, last: number): Chapter[] {
    const all: Chapter[] = this.#steps.length ? this.#steps.map((s) => ({ ...s, to: last })) : this.#said.map((from) => ({ from, to: last, title: "" }));
    if (!all.length || all[0]!.from > first) all.unshift({ from: first, to: last, title: "" });
    all[0]!.from = first;
    for (let i = 0; i + 1 < all.length; i++) all[i]!.to = all[i + 1]!.from;
    return all.length > 40 ? [{ from: first, to: last, title: "" }] : all;
  }
}

// Of a call, the mark that says most stays.
const rank: Record<MarkKind, number> = { tick: 0, edit: 1, askd: 2, err: 3, me: 4 };

function kindOf(ev: Event): MarkKind | "" {
  switch (ev.type) {
    case "user_said":
      return "me";
    case "asked":
      return "askd";
    case "call_done":
      return ev.body.is_error || ev.body.failed ? "err" : ev.body.detail?.diff || ev.body.detail?.change ? "edit" : "tick";
    case "model_failed":
    case "stopped":
      return "err";
  }
  return "";
}

/** Of many marks, those that can be told apart on a track of so many places; of several at one, that which says most. */
export function thin(marks: Mark[], first: number, last: number, places: number): Mark[] {
  const at = new Map<number, Mark>();
  for (const m of marks) {
    const place = Math.round(((m.seq - first) / Math.max(1, last - first)) * places);
    const other = at.get(place);
    if (!other || rank[m.kind] > rank[other.kind]) at.set(place, m);
  }
  return [...at.values()];
}

export interface Chapter {
  from: number;
  to: number;
  title: string;
}

/** How long the step from one event to the next takes when a session is played, in milliseconds. */
export function pace(from: string, to: string, speed: number): number {
  const gap = Math.max(0, Date.parse(to) - Date.parse(from)) || 0;
  return Math.min(2000, Math.max(600, gap)) / speed;
}
