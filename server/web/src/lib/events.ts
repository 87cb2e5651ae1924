// The events of docs/events.md, and the fold that turns them into what the
// screen shows. A past state is the same fold, stopped earlier.

import type { Plan as Progress, Source } from "./api";
import { kindOf, type Says } from "./says";
import type { Word } from "./words/en";

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
  time: string; // "" while it is typed
  text: string;
  thinking: string;
  images: Blob64[];
  read?: number; // of what is typed: how much of the request the model has read, in per cent
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
  says?: Says; // of the tools of its session
  state: "open" | "asked" | "allowed" | "denied" | "running" | "done" | "failed";
  question: string;
  shown: string; // what the person was shown beside the arguments
  by: string; // who ruled
  sources: Source[]; // where the arguments came from
  began: string;
  ended: string;
  live: string; // what it has printed so far
  printed: number; // how many bytes of that came
  reading: number; // files of the folder that were read before it can run; 0: it waits for none
  text: string; // the result
  images: Blob64[];
  detail: any;
  source: string;
  whole: string;
  bad: boolean; // it ran something that failed, such as a command
  picture: string; // the blob of a small picture of what it worked on
}

export interface Note {
  kind: "note";
  seq: number;
  time: string;
  tone: "plain" | "bad";
  text: string;
  why?: Why; // it tells that the session halted
  word?: Word; // in place of text
  fill?: Record<string, string | number>; // for word
  child?: string; // the session that it is about
  back?: WentBack; // it tells that the session went back
}

/** That a session went back: see rewound in docs/events.md. */
export interface WentBack {
  id: string;
  files: boolean;
  talk: boolean;
  redo: boolean; // it takes back that it went back before
  changes: FileChange[];
  kept: { name: string; why: string }[];
}

/** Why a session halted: see model_failed, stopped and ended in docs/events.md. */
export interface Why {
  kind: string; // of the failure, or the reason; "" if none was given
  status: number; // of HTTP, or 0
  failed: boolean; // the model did; otherwise the flow stopped
}

/** What was done for the latest request of the person. */
export interface Round {
  began: string;
  ended: string; // when the last event came
  replies: number; // of models
  cost: number; // in dollars
  files: string[]; // that were made or changed and are still there, in the order of their first change
}

export type Item = Said | Call | Note;

/** What a session looks like after some events. */
export interface View {
  seq: number;
  model: string;
  workspace: string;
  says: Says;
  items: Item[];
  calls: Map<string, Call>;
  typing: Said | null;
  turn: number;
  plan: Plan | null;
  changes: FileChange[];
  round: Round;
  halted: boolean; // nothing goes on until the person says something
  /** What there was after events at which the session can go back to, in order. */
  moments: Moment[];
  /** The items as they were before each time that the conversation went back. */
  before: { seq: number; items: Item[] }[];
}

/** What there is after an event, besides the items. */
interface Moment {
  seq: number;
  plan: Plan | null;
  changes: FileChange[];
  round: Round;
}

export function empty(): View {
  const round = { began: "", ended: "", replies: 0, cost: 0, files: [] };
  return {
    seq: 0, model: "", workspace: "", says: {}, items: [], calls: new Map(), typing: null, turn: 0, plan: null, changes: [], round, halted: true,
    moments: [], before: [],
  };
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

function said(kind: Said["kind"], ev: Event, m: Message): Said {
  return { kind, seq: ev.seq, time: ev.time, text: textOf(m.parts), thinking: textOf(m.parts, "thinking"), images: images(m.parts) };
}

/** The events after which a session halts, or goes on. A reply that makes calls goes on. */
const halts: Record<string, boolean> = {
  user_said: false, resumed: false, called: false, model_said: true, model_failed: true, stopped: true, ended: true, interrupted: true,
};

/** The events about calls. */
const ofCalls = new Set(["asked", "answered", "ruled", "call_started", "output", "reading", "call_done", "call_late"]);

/** The events before which a session can go back: those that go on with a conversation. */
const turns = new Set(["user_said", "model_said", "called", "interrupted", "rewound"]);

/** Adds an event to what there is. Items that change are replaced by copies; lists of items are not. */
export function apply(v: View, ev: Event): void {
  const b = ev.body;
  if (ev.seq > 0) {
    if (ev.seq <= v.seq) return;
    if (turns.has(ev.type)) v.moments.push({ seq: v.seq, plan: v.plan, changes: v.changes, round: { ...v.round } });
    v.seq = ev.seq;
  }
  if (ev.seq > 0 && v.round.began) v.round.ended = ev.time;
  const wasHalted = v.halted;
  if (ev.type in halts) v.halted = halts[ev.type]!;
  switch (ev.type) {
    case "configured":
      v.model = b.model ?? "";
      v.workspace = b.workspace ?? "";
      if (b.n > 0) note(v, ev, "", "plain", { word: "fromHereOn", fill: { what: [b.model, b.workspace, b.approve].filter(Boolean).join(" · ") } });
      v.says = Object.fromEntries((b.tools ?? []).map((tool: any) => [tool.name, tool.says ?? []]));
      break;
    case "user_said":
      v.items.push(said("user", ev, b.message));
      if (wasHalted) v.round = { ...empty().round, began: ev.time, ended: ev.time };
      break;
    case "typing":
      typed(v, b);
      break;
    case "model_said":
      v.typing = null;
      v.turn = b.turn + 1;
      spent(v, b);
      reply(v, ev, b.message);
      break;
    case "called":
      v.typing = null;
      v.turn = b.turn + 1;
      begin(v, ev.seq, b.call, b.name, b.input);
      break;
    case "model_failed":
      v.typing = null;
      v.turn = b.turn + 1;
      spent(v, b);
      note(v, ev, b.error, "bad", { why: { kind: b.kind ?? "", status: b.status ?? 0, failed: true } });
      break;
    case "stopped":
      v.typing = null;
      v.turn = b.turn + 1;
      note(v, ev, b.error || b.reason, "bad", { why: { kind: b.reason ?? "", status: 0, failed: false } });
      break;
    case "ended":
      v.typing = null;
      v.turn = b.turn + 1;
      if (b.text) v.items.push(words(ev, b.text));
      if (b.error) note(v, ev, b.error, "bad", { why: { kind: b.reason ?? "", status: 0, failed: false } });
      break;
    case "interrupted":
      if (b.said) v.items.push(words(ev, b.said));
      v.typing = null;
      for (const c of v.calls.values()) if (!over(c)) change(v, c.id, { state: "failed", text: "interrupted", ended: ev.time });
      if (!String(b.id).startsWith("fork-")) note(v, ev, "", "plain", { word: "interrupted" });
      break;
    case "rewound":
      wentBack(v, ev);
      break;
    case "noted":
      note(v, ev, b.text, "plain");
      break;
    case "compacted":
      spent(v, b);
      note(v, ev, "", "plain", { word: "compacted" });
      break;
    case "softened":
      spent(v, b);
      note(v, ev, "", "plain", { word: "softened", fill: { why: b.refused } });
      break;
    case "elided":
      note(v, ev, "", "plain", { word: "elided", fill: { n: b.calls?.length ?? 0 } });
      break;
    case "mode_set":
      note(v, ev, "", "plain", { word: "modeSet", fill: { mode: b.mode } });
      break;
    case "resumed":
      note(v, ev, "", "plain", { word: "resumedHere" });
      break;
    case "taken":
      note(v, ev, "", "plain", { word: "takenOver" });
      break;
    case "opened":
    case "titled":
    case "snapped": // what they say stands elsewhere
      break;
    case "child_opened":
      note(v, ev, "→ " + b.child, "plain", { child: b.child });
      break;
    case "child_done":
      spent(v, b);
      note(v, ev, "← " + b.child + ": " + b.status, b.status === "finished" ? "plain" : "bad", { child: b.child });
      break;
    default:
      if (ofCalls.has(ev.type)) call(v, ev);
      else if (ev.seq > 0) note(v, ev, "", "plain", { word: "newerEvent", fill: { what: ev.type } });
  }
}

/** Takes out of the conversation what the session went back over, and says so. */
function wentBack(v: View, ev: Event): void {
  const b = ev.body;
  const to: number = b.to;
  const then = v.moments.findLast((m) => m.seq <= to);
  if (b.files) v.changes = then?.changes ?? [];
  if (b.talk) {
    const were = v.before.find((o) => o.seq > to)?.items ?? v.items;
    v.before.push({ seq: ev.seq, items: v.items });
    v.items = were.filter((i) => i.seq <= to);
    v.typing = null;
    v.turn++;
    v.halted = true;
    v.plan = then?.plan ?? null;
    v.round = then?.round ?? empty().round;
  }
  const changes: FileChange[] = b.changes ?? [];
  const back = { id: String(b.id), files: !!b.files, talk: !!b.talk, redo: !!b.redo, changes, kept: b.kept ?? [] };
  note(v, ev, "", "plain", { back });
}

function over(c: Call): boolean {
  return c.state === "done" || c.state === "failed" || c.state === "denied";
}

function note(v: View, ev: Event, text: string, tone: Note["tone"], more: Partial<Note> = {}): void {
  v.items.push({ kind: "note", seq: ev.seq, time: ev.time, tone, text, ...more });
}

/** What the agent said, where the event has the text alone. */
function words(ev: Event, text: string): Said {
  return { kind: "agent", seq: ev.seq, time: ev.time, text, thinking: "", images: [] };
}

/** Money in events is in nanodollars. */
const dollar = 1e9;

function spent(v: View, b: any): void {
  let cost = b.cost ?? 0;
  for (const a of b.aside ?? []) cost += a.cost ?? 0;
  v.round = { ...v.round, replies: v.round.replies + 1, cost: v.round.cost + cost / dollar };
}

function typed(v: View, b: any): void {
  if (b.turn < v.turn) return;
  if (b.reset || !v.typing) v.typing = { kind: "agent", seq: 0, time: "", text: "", thinking: "", images: [] };
  v.typing = { ...v.typing, text: v.typing.text + textOf(b.parts), thinking: v.typing.thinking + textOf(b.parts, "thinking"), read: b.read };
}

function reply(v: View, ev: Event, m: Message): void {
  const s = said("agent", ev, m);
  if (s.text || s.thinking) v.items.push(s);
  for (const p of m.parts ?? []) {
    if (p.type !== "call") continue;
    v.halted = false;
    begin(v, ev.seq, p.id, p.name, p.input ?? (p.input_base64 ? text64(p.input_base64) : ""));
  }
}

/** Adds a call that the event seq makes. */
function begin(v: View, seq: number, id: string, name: string, input: string): void {
  const c: Call = {
    kind: "call", seq, id, name, input, says: v.says, state: "open",
    question: "", shown: "", by: "", sources: [], began: "", ended: "", live: "", printed: 0, reading: 0, text: "", images: [], detail: null, source: "",
    whole: "", bad: false, picture: "",
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
      change(v, c.id, { state: "running", began: ev.time, live: "", printed: 0, reading: 0 });
      break;
    case "output":
      printed(v, c, b.at ?? 0, b.text);
      break;
    case "reading":
      change(v, c.id, { reading: b.files });
      break;
    case "call_done":
      change(v, c.id, {
        state: b.is_error ? (c.state === "denied" ? "denied" : "failed") : "done",
        ended: ev.time, live: "", reading: 0, text: textOf(b.parts), images: images(b.parts), detail: b.detail ?? null, source: b.source ?? "", whole: b.whole ?? "",
        bad: !!b.failed, picture: b.picture ?? "",
      });
      effects(v, c, b.detail, b.files ?? []);
      break;
    case "call_late":
      note(v, ev, textOf(b.parts), "plain");
      break;
  }
}

/** Adds what a call printed after so many bytes. What came before, over an earlier connection, is dropped. */
function printed(v: View, c: Call, at: number, text: string): void {
  const bytes = new TextEncoder().encode(text);
  const old = c.printed - at;
  if (old >= bytes.length) return;
  if (old > 0) text = utf8.decode(bytes.subarray(old));
  change(v, c.id, { live: (c.live + text).slice(-mostLive), printed: at + bytes.length });
}

/** Takes what is typed and printed, and is not among the events, from another fold of the same. */
export function takeMoment(v: View, from: View): void {
  v.typing = from.turn === v.turn ? from.typing : null;
  for (const c of from.calls.values()) if (c.live) change(v, c.id, { live: c.live, printed: c.printed });
}

function effects(v: View, c: Call, detail: any, files: FileChange[]): void {
  if (detail && kindOf(c) === "plans" && Array.isArray(detail.plans)) {
    v.plan = detail.plans.find((p: Plan) => p.id === detail.active) ?? detail.plans.at(-1) ?? null;
  }
  const exact = typeof detail?.path === "string" && typeof detail.change === "string" ? [detail as FileChange] : [];
  for (const f of [...exact, ...files.filter((f) => f.path !== detail?.path)]) changed(v, f);
}

/** Adds a change of a file to those before: what was made in this session stays new when it is changed again. */
function changed(v: View, c: FileChange): void {
  const before = v.changes.find((o) => o.path === c.path);
  const change = before?.change === "created" && c.change === "modified" ? "created" : c.change;
  v.changes = [...v.changes.filter((o) => o !== before), { ...c, bytes: c.bytes ?? before?.bytes ?? 0, change }];
  const others = v.round.files.filter((f) => f !== c.path);
  v.round = { ...v.round, files: change === "deleted" ? others : v.round.files.includes(c.path) ? v.round.files : [...others, c.path] };
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
