// Requests to the server that this page came from.

import type { Event } from "./events";
import { t } from "./i18n.svelte";
import type { Schemas } from "./types";

export type Usage = Pick<Schemas["Usage"], "input_tokens" | "output_tokens" | "cached_tokens" | "cost_usd">;
export type Source = Schemas["ArgumentSource"];
export type Waiting = Omit<Schemas["Waiting"], "schema"> & { schema?: { enum?: unknown[] } };
export type Plan = Schemas["Plan"];
export type Session = Omit<Schemas["Session"], "waiting" | "below" | "usage"> & { waiting?: Waiting[]; below?: Waiting[]; usage: Usage };
export type Status = Session["status"];
export type Limits = Schemas["Limits"];
export type File = Schemas["File"];
export type Attachment = Schemas["Attachment"];
export type Named = Pick<Schemas["AgentInfo"], "name" | "default"> & { description?: string };
export type Rewinding = Schemas["Rewinding"];

/** What a call would do with other arguments. */
export type Effect = { shown?: string; hints?: Waiting["hints"]; fails?: string };

/** A request that was refused, in the server's words. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export const base = "api/v1";

// The header proves to the server that a page of its own sends the request: a
// page of another site cannot set it.
export async function send(method: string, path: string, body?: BodyInit, type?: string, signal?: AbortSignal): Promise<string> {
  const headers: Record<string, string> = { "OpenManus-Page": "1", ...(type && { "Content-Type": type }) };
  const resp = await fetch(base + path, { method, headers, ...(body !== undefined && { body }), ...(signal && { signal }), keepalive: method === "DELETE" }).catch((e) => {
    throw signal?.aborted ? e : new Error(t("unreachable"));
  });
  const text = await resp.text();
  if (!resp.ok) throw new Refused(resp.status, refusal(resp.status, problem(text) || resp.statusText));
  return text;
}

export async function call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const text = await (body === undefined ? send(method, path, undefined, undefined, signal) : send(method, path, JSON.stringify(body), "application/json", signal));
  return (text ? JSON.parse(text) : undefined) as T;
}

/** Keeps the user signed in while the page is open: a login ends a day after its last request. */
export function staySignedIn(): void {
  setInterval(() => void fetch(".", { method: "HEAD" }).catch(() => undefined), 30 * 60_000); // the next one may succeed
}

function problem(text: string): string {
  try {
    const p = JSON.parse(text);
    const first = p.errors?.[0];
    return first ? `${(first.location ?? "").replace("body.", "")}: ${first.message}` : p.detail;
  } catch {
    return text.slice(0, 300);
  }
}

/** What a refusal is called in the person's language, and the server's words as its detail. */
export function refusal(status: number, detail: string): string {
  const known = [400, 401, 403, 404, 409, 413, 422, 429, 503] as const;
  const word = known.find((s) => s === status);
  return t(word ? `refused_${word}` : "refused_other", { detail });
}

/** Which sessions are listed. */
export interface Filter {
  q?: string;
  status?: Status[]; // one of these
  after?: string; // the next of the page before
}

/** A page of a list, and the cursor of the next one. */
export interface Page {
  items: Session[];
  next?: string;
}

const queryOf = (f: Filter) =>
  [f.q && "q=" + encodeURIComponent(f.q), ...(f.status ?? []).map((s) => "status=" + s), f.after && "after=" + encodeURIComponent(f.after)].filter(Boolean).map((p) => "&" + p).join("");

/** Where a session is in the API. */
export const at = (id: string) => "/sessions/" + encodeURIComponent(id);

export const api = {
  sessions: (f: Filter, limit = 100) => call<Page>("GET", `/sessions?limit=${limit}` + queryOf(f)),
  below: (id: string) => call<{ items: Session[] }>("GET", "/sessions?limit=500&parent=" + encodeURIComponent(id)).then((r) => r.items.reverse()),
  session: (id: string) => call<Session>("GET", at(id)),
  log: (id: string, after: number, limit: number) => call<{ items: Event[] }>("GET", `${at(id)}/log?after=${after}&limit=${limit}`).then((r) => r.items),
  newest: (id: string, n: number) => call<{ items: Event[] }>("GET", `${at(id)}/log?last=${n}&limit=10000`).then((r) => r.items),
  plan: (id: string, seq: number) => call<Plan>("GET", `${at(id)}/plan?at=${seq}`),
  create: (s: object) => call<Session>("POST", "/sessions", s),
  say: (id: string, m: { id: string; text: string; attachments?: Attachment[] }) => call<{ seq: number }>("POST", at(id) + "/messages", m),
  rule: (id: string, r: { call: string; allow: boolean; scope?: string; input?: unknown; reason?: string; remember?: boolean }) => call("POST", at(id) + "/rulings", r),
  preview: (id: string, p: { call: string; input: unknown }) => call<Effect>("POST", at(id) + "/preview", p),
  approvePlan: (id: string, p: { mode: string; text?: string }) => call("POST", at(id) + "/plan/approve", p),
  answer: (id: string, a: { call: string; answer: unknown }) => call("POST", at(id) + "/answers", a),
  interrupt: (id: string) => call("POST", at(id) + "/interrupt"),
  retry: (id: string, limits: Limits = {}) => call("POST", at(id) + "/retry", Object.keys(limits).length ? { limits } : {}),
  fork: (id: string, seq: number, share = false) => call<Session>("POST", at(id) + "/fork", { at: seq, ...(share && { share }) }),
  rewind: (id: string, r: { to: number; files?: boolean; talk?: boolean; dry_run?: boolean }) => call<Rewinding>("POST", at(id) + "/rewind", r),
  redo: (id: string, dry_run: boolean) => call<Rewinding>("POST", at(id) + "/redo", { dry_run }),
  change: (id: string, c: { title?: string; approve?: string; model?: string }) => call<Session>("PATCH", at(id), c),
  remove: (id: string) => call("DELETE", at(id)),
  files: (id: string) => call<{ items: File[]; partial?: boolean }>("GET", at(id) + "/files"),
  upload: (id: string, name: string, data: globalThis.Blob) => send("PUT", at(id) + "/files/" + encodeURIComponent(name), data),
  agents: () => call<{ items: Named[] }>("GET", "/agents").then((r) => r.items),
  usageSince: (day: string) => call<Usage>("GET", "/usage?since=" + day),
  models: () => call<{ items: Named[] }>("GET", "/models").then((r) => r.items),
  blobURL: (id: string, ref: string) => base + at(id) + "/blobs/" + ref,
  exportURL: (id: string) => base + at(id) + "/export",
  shareURL: (id: string) => base + at(id) + "/share",
};

/** Where a session is on this page. */
export const hrefOf = (id: string) => "#/s/" + encodeURIComponent(id);

/** An id that nothing else has. */
export function newID(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(10)), (b) => b.toString(36).padStart(2, "0")).join("");
}
