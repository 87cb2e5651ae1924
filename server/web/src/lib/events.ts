// The events of docs/events.md, and the fold that turns them into what the
// screen shows. A past state is the same fold, stopped earlier.

import type { Plan as Progress, Source } from "./api";

export type Plan = Progress & { id: string };

export type Part =
  | { type: "text" | "thinking"; text?: string; text_base64?: string }
  | { type: "blob"; mime: string; name?: string; data?: string }
  | { type: "call"; id: string; name: string; input?: string; input_base64?: string }
  | { type: "result"; id: string; parts?: Part[]; is_error?: boolean };

export interface Message {
  role: string;
  parts: Part[] | null;
}

export interface Event {
  seq: number; // 0: of the moment
  time: string;
  type: string;
  key?: string;
  body: any;
}

export interface FileChange {
  path: string;
  change: "created" | "modified" | "deleted";
  bytes: number;
  diff?: string;
}

export interface Said {
  kind: "user" | "agent";
  seq: number; // of the event; 0 while it is typed
  text: string;
  thinking: string;
  images: Blob64[];
}

export interface Blob64 {
  mime: string;
  name: string;
  data: string;
}

export interface Call {
  kind: "call";
  seq: number; // of the event that made it
  id: string;
  name: string;
  input: string;
  state: "open" | "asked" | "allowed" | "denied" | "running" | "done" | "failed";
  question: string;
  shown: string; // what the person was shown beside the arguments
  by: string; // who ruled
  sources: Source[]; // where the arguments came from
  began: string;
  ended: string;
  live: string; // what it has printed so far
  text: string; // the result
  images: Blob64[];
  detail: any;
  source: string;
  whole: string;
}

export interface Note {
  kind: "note";
  seq: number;
  tone: "plain" | "bad";
  text: string;
  child?: string; // the session that it is about
}

export type Item = Said | Call | Note;

/** What a session looks like after some events. */
export interface View {
  seq: number;
  model: string;
  workspace: string;
  items: Item[];
  calls: Map<string, Call>;
  typing: Said | null;
  turn: number;
  plan: Plan | null;
  changes: FileChange[];
}

export function empty(): View {
  return { seq: 0, model: "", workspace: "", items: [], calls: new Map(), typing: null, turn: 0, plan: null, changes: [] };
}

const utf8 = new TextDecoder();

function text64(data: string): string {
  return utf8.decode(Uint8Array.from(atob(data), (c) => c.charCodeAt(0)));
}

/** The text of parts of a kind. */
export function textOf(parts: Part[] | null | undefined, kind: "text" | "thinking" = "text"): string {
  let text = "";
  for (const p of parts ?? []) if (p.type === kind) text += p.text_base64 ? text64(p.text_base64) : (p.text ?? "");
  return text;
}

function images(parts: Part[] | null | undefined): Blob64[] {
  const all: Blob64[] = [];
  for (const p of parts ?? []) if (p.type === "blob" && p.mime.startsWith("image/")) all.push({ mime: p.mime, name: p.name ?? "", data: p.data ?? "" });
  return all;
}

function said(kind: Said["kind"], seq: number, m: Message): Said {
  return { kind, seq, text: textOf(m.parts), thinking: textOf(m.parts, "thinking"), images: images(m.parts) };
}

/** Adds an event to what there is. Items that change are replaced by copies; lists of items are not. */
export function apply(v: View, ev: Event): void {
  const b = ev.body;
  if (ev.seq > 0) {
    if (ev.seq <= v.seq) return;
    v.seq = ev.seq;
  }
  switch (ev.type) {
    case "configured":
      v.model = b.model ?? "";
      v.workspace = b.workspace ?? "";
      break;
    case "user_said":
      v.items.push(said("user", ev.seq, b.message));
      break;
    case "typing":
      typed(v, b);
      break;
    case "model_said":
      v.typing = null;
      v.turn = b.turn + 1;
      reply(v, ev.seq, b.message);
      break;
    case "called":
      v.typing = null;
      v.turn = b.turn + 1;
      begin(v, ev.seq, b.call, b.name, b.input);
      break;
    case "model_failed":
      v.typing = null;
      v.turn = b.turn + 1;
      note(v, ev.seq, b.error, "bad");
      break;
    case "stopped":
      v.typing = null;
      v.turn = b.turn + 1;
      note(v, ev.seq, b.error || b.reason, "bad");
      break;
    case "ended":
      v.typing = null;
      v.turn = b.turn + 1;
      if (b.text) v.items.push({ kind: "agent", seq: ev.seq, text: b.text, thinking: "", images: [] });
      if (b.error) note(v, ev.seq, b.error, "bad");
      break;
    case "interrupted":
      if (b.said) v.items.push({ kind: "agent", seq: ev.seq, text: b.said, thinking: "", images: [] });
      v.typing = null;
      for (const c of v.calls.values()) if (!over(c)) change(v, c.id, { state: "failed", text: "interrupted", ended: ev.time });
      note(v, ev.seq, "interrupted", "plain");
      break;
    case "noted":
      note(v, ev.seq, b.text, "plain");
      break;
    case "compacted":
      note(v, ev.seq, "compacted", "plain");
      break;
    case "child_opened":
      note(v, ev.seq, "→ " + b.child, "plain", b.child);
      break;
    case "child_done":
      note(v, ev.seq, "← " + b.child + ": " + b.status, b.status === "finished" ? "plain" : "bad", b.child);
      break;
    default:
      call(v, ev);
  }
}

function over(c: Call): boolean {
  return c.state === "done" || c.state === "failed" || c.state === "denied";
}

function note(v: View, seq: number, text: string, tone: Note["tone"], child?: string): void {
  v.items.push({ kind: "note", seq, tone, text, child });
}

function typed(v: View, b: any): void {
  if (b.turn < v.turn) return;
  if (b.reset || !v.typing) v.typing = { kind: "agent", seq: 0, text: "", thinking: "", images: [] };
  v.typing = { ...v.typing, text: v.typing.text + textOf(b.parts), thinking: v.typing.thinking + textOf(b.parts, "thinking") };
}

function reply(v: View, seq: number, m: Message): void {
  const s = said("agent", seq, m);
  if (s.text || s.thinking) v.items.push(s);
  for (const p of m.parts ?? []) {
    if (p.type !== "call") continue;
    begin(v, seq, p.id, p.name, p.input ?? (p.input_base64 ? text64(p.input_base64) : ""));
  }
}

/** Adds a call that the event seq makes. */
function begin(v: View, seq: number, id: string, name: string, input: string): void {
  const c: Call = {
    kind: "call", seq, id, name, input, state: "open",
    question: "", shown: "", by: "", sources: [], began: "", ended: "", live: "", text: "", images: [], detail: null, source: "", whole: "",
  };
  v.items.push(c);
  v.calls.set(c.id, c);
}

/** The most of what a running call prints that is kept. */
const mostLive = 200_000;

function call(v: View, ev: Event): void {
  const b = ev.body;
  const c = v.calls.get(b?.call);
  if (!c) return;
  switch (ev.type) {
    case "asked":
      change(v, c.id, { state: "asked", question: b.question, input: b.input || c.input, shown: b.shown ?? "", sources: b.sources ?? [] });
      break;
    case "answered":
      change(v, c.id, { state: "allowed" });
      break;
    case "ruled":
      change(v, c.id, { state: b.allow ? "allowed" : "denied", by: b.by, input: b.input || c.input, sources: b.sources ?? c.sources, text: b.allow ? "" : (b.reason ?? "") });
      break;
    case "call_started":
      change(v, c.id, { state: "running", began: ev.time, live: "" });
      break;
    case "output":
      change(v, c.id, { live: (c.live + b.text).slice(-mostLive) });
      break;
    case "call_done":
      change(v, c.id, {
        state: b.is_error ? (c.state === "denied" ? "denied" : "failed") : "done",
        ended: ev.time, live: "", text: textOf(b.parts), images: images(b.parts), detail: b.detail ?? null, source: b.source ?? "", whole: b.whole ?? "",
      });
      effects(v, c.name, b.detail);
      break;
    case "call_late":
      note(v, ev.seq, textOf(b.parts), "plain");
      break;
  }
}

/** Takes what is typed and printed, and is not among the events, from another fold of the same. */
export function takeMoment(v: View, from: View): void {
  v.typing = from.turn === v.turn ? from.typing : null;
  for (const c of from.calls.values()) if (c.live) change(v, c.id, { live: c.live });
}

function effects(v: View, tool: string, detail: any): void {
  if (!detail) return;
  if (tool === "planning" && Array.isArray(detail.plans)) {
    v.plan = detail.plans.find((p: Plan) => p.id === detail.active) ?? detail.plans.at(-1) ?? null;
  }
  if (typeof detail.path === "string" && typeof detail.change === "string") {
    v.changes = [...v.changes.filter((c) => c.path !== detail.path), detail];
  }
}

/** Replaces a call by a copy, so that only what changed is drawn anew. */
function change(v: View, id: string, to: Partial<Call>): void {
  const old = v.calls.get(id);
  if (!old) return;
  const c = { ...old, ...to };
  v.calls.set(id, c);
  for (let i = v.items.length - 1; i >= 0; i--) {
    if (v.items[i] === old) {
      v.items[i] = c;
      return;
    }
  }
}

/** What a session looked like after the event with a number. */
export function upTo(events: Event[], seq: number): View {
  const v = empty();
  for (const ev of events) {
    if (ev.seq > seq) break;
    apply(v, ev);
  }
  return v;
}

/** The arguments of a call as an object; broken ones are none. */
export function args(c: Call): Record<string, any> {
  try {
    const v = JSON.parse(c.input);
    return v && typeof v === "object" ? v : {};
  } catch {
    return {};
  }
}

/** One line that tells what a call is about. */
export function summary(c: Call): string {
  const a = args(c);
  for (const k of ["command", "code", "path", "file_path", "query", "url", "inquire", "pattern", "task", "action", "status"]) {
    if (typeof a[k] === "string" && a[k]) return (k === "path" && a.command ? a.command + " " : "") + a[k].split("\n")[0];
  }
  return c.input.slice(0, 120);
}
