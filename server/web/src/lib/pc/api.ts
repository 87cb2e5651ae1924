// Requests of the computer to the server.

import { at, base, call } from "../api";
import type { Schemas } from "../types";

/** The address of a file as it is, or as it was after an event. With another version, a picture is loaded anew; the past does not change. */
export function fileURL(id: string, path: string, seq: number | null, inline = false, version?: number): string {
  const query = [seq === null ? "" : "at=" + seq, inline ? "inline=true" : "", seq === null && version !== undefined ? "v=" + version : ""].filter(Boolean).join("&");
  return `${base}${at(id)}/${seq === null ? "files" : "past"}/${named(path)}${query && "?" + query}`;
}

const named = (path: string) => path.split("/").map(encodeURIComponent).join("%2F");
const from = (name: string, seq: number | null) => (seq === null ? "" : `?${name}=${seq}`);

/** A document as Markdown. */
export const documentOf = (id: string, path: string, seq: number | null, signal: AbortSignal) =>
  call<Schemas["Document"]>("GET", `${at(id)}/document/${named(path)}${from("at", seq)}`, undefined, signal);

/** The files of a workspace as they were after an event. */
export const pastFiles = (id: string, seq: number, signal: AbortSignal) => call<Schemas["PastResponseBody"]>("GET", at(id) + "/past" + from("at", seq), undefined, signal);

/** What a session changed up to an event, file by file. */
export const changesTo = (id: string, seq: number | null, signal: AbortSignal) =>
  call<Schemas["DiffResponseBody"]>("GET", at(id) + "/diff" + from("to", seq), undefined, signal).then((r) => r.items);

/** The address at which an HTML page is served for a frame. */
export const frameURL = (fileURL: string, scripts: boolean) => fileURL + (fileURL.includes("?") ? "&" : "?") + "frame=" + (scripts ? "scripts" : "still");

/** The address of files in one zip: of all, or of those at paths. */
export const archiveURL = (id: string, paths: string[] = []) => base + at(id) + "/zip" + (paths.length ? "?" + paths.map((p) => "path=" + encodeURIComponent(p)).join("&") : "");
