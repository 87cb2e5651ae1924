// Which part of the computer shows the work of a call.

import type { Call, Item } from "../events";
import { args, kindOf, meant, type Kind } from "../says";
import { kindOf as sortOf } from "./kinds";

export type Tab = "terminal" | "browser" | "editor" | "files" | "plan";
export const tabs: Tab[] = ["terminal", "browser", "editor", "files", "plan"];

/** null: there is nothing to see of them. */
const by: Partial<Record<Kind, Tab | null>> = {
  runs: "terminal", finds: "terminal", searches: "browser", fetches: "browser", browses: "browser", writes: "editor", draws: "files", plans: "plan", asks: null, ends: null,
};

/** The tab that shows a call; null if there is nothing to see. */
export function tabOf(c: Call): Tab | null {
  const kind = kindOf(c);
  if (kind && kind in by) return by[kind]!;
  const path = pathOf(c);
  if (!path) return "terminal";
  return kind === "reads" && ["pdf", "office", "image", "none"].includes(sortOf(path)) ? "files" : "editor";
}

/** The file that a call works on, or "". */
export function pathOf(c: Call): string {
  const inner = args(meant(c));
  for (const path of [c.detail?.path, inner["path"], inner["file_path"], c.detail?.files?.[0]]) if (typeof path === "string" && path) return path;
  return "";
}

/** The file of a call that drew something, a picture if there is one; null: it has drawn nothing yet. */
export function drawnBy(c: Call): string | null {
  if (kindOf(c) !== "draws" || c.state !== "done") return null;
  const made: unknown[] = Array.isArray(c.detail) ? c.detail.map((d) => d?.chart) : (c.detail?.files ?? []);
  const files = made.filter((f): f is string => typeof f === "string" && f !== "");
  return files.findLast((f) => sortOf(f) === "image") ?? files.at(-1) ?? null;
}

const begun = (c: Call) => c.state !== "open" && c.state !== "asked" && c.state !== "allowed";

/** The call whose work is shown: the newest that runs, or else the newest that has run. */
export function current(items: Item[]): Call | null {
  let last: Call | null = null;
  for (let i = items.length - 1; i >= 0; i--) {
    const c = items[i]!;
    if (c.kind !== "call" || tabOf(c) === null) continue;
    if (c.state === "running") return c;
    if (!last && begun(c) && c.state !== "denied") last = c;
    if (last && i < items.length - 200) break; // parallel calls stand together
  }
  return last;
}

/** The last calls of a tab, the oldest first. */
export function callsOf(items: Item[], tab: Tab, most: number): Call[] {
  const all: Call[] = [];
  for (let i = items.length - 1; i >= 0 && all.length < most; i--) {
    const c = items[i]!;
    if (c.kind === "call" && begun(c) && c.began && tabOf(c) === tab) all.push(c);
  }
  return all.reverse();
}
