// Requests of the computer to the server.

import { Refused } from "../api";

/** Where a session is in the API. */
export const at = (id: string) => "api/v1/sessions/" + encodeURIComponent(id);

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
