// Requests of the computer to the server.

import { Refused } from "../api";
import type { Schemas } from "../types";

/** Where a session is in the API. */
export const at = (id: string) => "api/v1/sessions/" + encodeURIComponent(id);

/** The address of a file as it is, or as it was after an event. With another version, a picture is loaded anew; the past does not change. */
export function fileURL(id: string, path: string, seq: number | null, inline = false, version?: number): string {
  const query = [seq === null ? "" : "at=" + seq, inline ? "inline=true" : "", seq === null && version !== undefined ? "v=" + version : ""].filter(Boolean).join("&");
  return `${at(id)}/${seq === null ? "files" : "past"}/${named(path)}${query && "?" + query}`;
}

/** The address of a document as Markdown. */
export const documentURL = (id: string, path: string, seq: number | null) => `${at(id)}/document/${named(path)}${seq === null ? "" : "?at=" + seq}`;

const named = (path: string) => path.split("/").map(encodeURIComponent).join("%2F");

/** Reads JSON from an address of this server. */
export async function read<T>(url: string, signal?: AbortSignal): Promise<T> {
  const resp = await fetch(url, { ...(signal && { signal }) });
  if (resp.ok) return resp.json();
  const problem = await resp.json().catch(() => ({}));
  throw new Refused(resp.status, String(problem.errors?.[0]?.message ?? problem.detail ?? resp.statusText));
}

/** The files of a workspace as they were after an event. */
export const pastFiles = (id: string, seq: number, signal: AbortSignal) => read<Schemas["PastResponseBody"]>(`${at(id)}/past?at=${seq}`, signal);

/** What a session changed up to an event, file by file. */
export const changesTo = (id: string, seq: number | null, signal: AbortSignal) =>
  read<Schemas["DiffResponseBody"]>(`${at(id)}/diff${seq === null ? "" : "?to=" + seq}`, signal).then((r) => r.items);

/** The address at which an HTML page is served for a frame. */
export const frameURL = (fileURL: string, scripts: boolean) => fileURL + (fileURL.includes("?") ? "&" : "?") + "frame=" + (scripts ? "scripts" : "still");

/** The address of files in one zip: of all, or of those at paths. */
export const archiveURL = (id: string, paths: string[] = []) => at(id) + "/zip" + (paths.length ? "?" + paths.map((p) => "path=" + encodeURIComponent(p)).join("&") : "");

/** Sends a request that changes something. The header proves that a page of the server's own sends it. */
export async function write(method: string, id: string, path: string, body?: unknown): Promise<void> {
  const headers: Record<string, string> = { "OpenManus-Page": "1", ...(body !== undefined && { "Content-Type": "application/json" }) };
  const resp = await fetch(at(id) + path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }), keepalive: method === "DELETE" });
  if (resp.ok) return;
  const problem = await resp.json().catch(() => ({}));
  throw new Refused(resp.status, String(problem.detail ?? resp.statusText));
}
