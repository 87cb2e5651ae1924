// The marks of the slider: what happened when, in chapters.

import type { Event } from "../events";

export type MarkKind = "me" | "tick" | "edit" | "askd" | "err";

export interface Mark {
  seq: number;
  kind: MarkKind;
}

/** The events that stand out: what the person said, calls, edits, failures, what was asked. */
export function marksOf(events: readonly Event[]): Mark[] {
  const all: Mark[] = [];
  const at = new Map<string, Mark>(); // by call
  for (const ev of events) {
    const b = ev.body;
    const kind = kindOf(ev);
    if (!kind) continue;
    const call: string = b?.call ?? "";
    const before = call ? at.get(call) : undefined;
    if (before && rank[kind] <= rank[before.kind]) continue;
    if (before) all.splice(all.lastIndexOf(before), 1);
    const mark = { seq: ev.seq, kind };
    all.push(mark);
    if (call) at.set(call, mark);
  }
  return all;
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

/** The parts of a session: one for each step of its plan that was begun, else one for each message of the person. */
export function chaptersOf(events: readonly Event[], first: number, last: number): Chapter[] {
  let all: Chapter[] = [];
  let step = "";
  for (const ev of events) {
    const d = ev.type === "call_done" ? ev.body.detail : null;
    if (!Array.isArray(d?.plans)) continue;
    const plan = d.plans.find((p: { id: string }) => p.id === d.active) ?? d.plans.at(-1);
    const now = plan?.steps?.find((s: { status: string }) => s.status === "in_progress")?.text ?? "";
    if (now && now !== step) all.push({ from: ev.seq, to: last, title: String(now) });
    step = now || step;
  }
  if (!all.length) all = events.filter((ev) => ev.type === "user_said").map((ev) => ({ from: ev.seq, to: last, title: "" }));
  if (!all.length || all[0]!.from > first) all.unshift({ from: first, to: last, title: "" });
  all[0]!.from = first;
  for (let i = 0; i + 1 < all.length; i++) all[i]!.to = all[i + 1]!.from;
  return all.length > 40 ? [{ from: first, to: last, title: "" }] : all;
}

/** How long the step from one event to the next takes when a session is played, in milliseconds. */
export function pace(from: string, to: string, speed: number): number {
  const gap = Math.max(0, Date.parse(to) - Date.parse(from)) || 0;
  return Math.min(2000, Math.max(600, gap)) / speed;
}
