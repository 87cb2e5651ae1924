// Which part of the computer shows the work of a call.

import { args, type Call, type Item } from "../events";

export type Tab = "terminal" | "browser" | "editor" | "files" | "plan";
export const tabs: Tab[] = ["terminal", "browser", "editor", "files", "plan"];

const by: Record<string, Tab> = {
  bash: "terminal", python_execute: "terminal", read_output: "terminal",
  browser_use: "browser", web_fetch: "browser", crawl: "browser", web_search: "browser", research: "browser",
  str_replace_editor: "editor", apply_patch: "editor", file_saver: "editor", grep: "terminal", glob: "terminal",
  data_visualization: "files", data_report: "files", data_query: "terminal", read_document: "files", planning: "plan",
};

/** These only speak with the person or end the work: there is nothing to see of them. */
const quiet = new Set(["ask_human", "terminate"]);

/** The tool that a call uses in the end. */
export function toolOf(c: Call): string {
  const inner = c.name === "use_tool" ? args(c)["name"] : "";
  return typeof inner === "string" && inner ? inner : c.name;
}

/** The tab that shows a call; null if there is nothing to see. */
export function tabOf(c: Call): Tab | null {
  const name = toolOf(c);
  if (quiet.has(name)) return null;
  return by[name] ?? (pathOf(c) ? "editor" : "terminal");
}

/** The file that a call works on, or "". */
export function pathOf(c: Call): string {
  const a = args(c);
  const inner = c.name === "use_tool" && typeof a["arguments"] === "object" ? (a["arguments"] ?? {}) : a;
  for (const path of [c.detail?.path, inner["path"], inner["file_path"], c.detail?.files?.[0]]) if (typeof path === "string" && path) return path;
  return "";
}

/** The text of a file out of a result that shows it with numbers of lines, from the first one on; any other result as it is. */
export function unnumbered(text: string): string {
  const [head, ...lines] = text.split("\n");
  if (!head!.includes("`cat -n`") || !/^\s*1\t/.test(lines[0] ?? "")) return text;
  return lines.map((l) => l.replace(/^\s*\d+\t/, "")).join("\n");
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
