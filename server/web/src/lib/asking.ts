// What an approval shows.

import type { Waiting } from "./api";
import type { Word } from "./i18n.svelte";
import { kindOf } from "./says";
import { visible } from "./visible";

/** A value, or why the text is no JSON. */
export function parsed(text: string): { value: unknown } | { error: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (e) {
    return { error: e instanceof Error ? e.message : String(e) };
  }
}

/** Arguments to read and to edit; those that are no JSON as they are. */
export function pretty(input: string): string {
  const p = parsed(input);
  return "error" in p ? input : JSON.stringify(p.value, null, 2);
}

function fields(input: string): Record<string, unknown> {
  const p = parsed(input);
  return "value" in p && p.value && typeof p.value === "object" && !Array.isArray(p.value) ? (p.value as Record<string, unknown>) : {};
}

const doing = (w: Waiting) => kindOf({ name: w.tool, input: w.input });

/** What would run, verbatim: the code or the command first, and the other arguments below it. */
export function exact(w: Waiting): string {
  const { command, code, ...rest } = fields(w.input);
  const main = typeof code === "string" ? code : typeof command === "string" && doing(w) === "runs" ? command : null;
  if (main === null) return pretty(w.input);
  const others = typeof code === "string" && command !== undefined ? { command, ...rest } : rest;
  return main + (Object.keys(others).length ? "\n\n" + JSON.stringify(others, null, 2) : "");
}

/** The question in the words of the page. */
export function headline(w: Waiting): { word: Word; fill: Record<string, string> } {
  const a = fields(w.input);
  const path = a["path"] ?? a["file_path"];
  if (doing(w) === "runs") return { word: typeof a["code"] === "string" ? "ask_code" : "ask_run", fill: {} };
  if (doing(w) === "writes" && typeof path === "string") return { word: "ask_edit", fill: { file: visible(path) } };
  if (typeof a["url"] === "string") return { word: "ask_open", fill: {} };
  return { word: "ask_use", fill: { tool: visible(w.tool) } };
}

/** The question of the gate in the words of the page, and what else stands in it; null: it is not one of the gate's. */
export function why(question: string): { word: Word; fill: Record<string, string>; rest: string } | null {
  const m = /^May (\S+) (?:run|go to ([^?]+?)|change ([^?]+?)(, from which programs outside the sandbox take orders)?)(, outside a sandbox)?\?\s*/.exec(question);
  if (!m) return null;
  const [all, tool, hosts, files, orders, outside] = m;
  const kind = hosts ? "go" : orders ? "orders" : files ? "change" : "run";
  const word = kind === "go" ? "why_go" : (`why_${kind}${outside ? "_out" : ""}` as const);
  return { word, fill: { tool: visible(tool!), what: visible(hosts ?? files ?? "") }, rest: question.slice(all.length) };
}

// Parts of commands that destroy, send or take what is secret: marked, so that they are not overlooked. A help for the eye, no judgement.
const risky =
  /(?:\brm\s+-[a-z]*[rf][a-z]*\b|--force(?:-with-lease)?\b|\bsudo\b|\bmkfs\S*|\bdd\s+if=|\bchmod\s+-R\b|\bgit\s+push\b|\bcurl\b|\bwget\b|\bssh\b|\bscp\b|\|\s*(?:ba|z)?sh\b|>\s*\/dev\/\S+|~\/\.ssh\S*|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}|\\x[0-9a-f]{2})/gi;

/** Cuts a text into parts, of which some are risky. */
export function risks(text: string): { text: string; risk: boolean }[] {
  const out: { text: string; risk: boolean }[] = [];
  let at = 0;
  for (const m of text.matchAll(risky)) {
    if (m.index > at) out.push({ text: text.slice(at, m.index), risk: false });
    out.push({ text: m[0], risk: true });
    at = m.index + m[0].length;
  }
  if (at < text.length) out.push({ text: text.slice(at), risk: false });
  return out;
}

/** The choices that a question ends with, as a list, and the text before them. Of a question without such a list, all is text. */
export function listed(question: string): { text: string; choices: string[] } {
  const lines = question.trimEnd().split("\n");
  const choices: string[] = [];
  while (lines.length) {
    const item = /^\s{0,3}(?:[-*+]|\d{1,2}[.)]|[A-Za-z][.)])\s+(.{1,200})$/.exec(lines.at(-1)!);
    if (!item && !(choices.length && lines.at(-1)!.trim() === "")) break;
    if (item) choices.unshift(item[1]!.replace(/\*\*|__|`/g, "").trim());
    lines.pop();
  }
  const text = lines.join("\n").trimEnd();
  return text && choices.length > 1 && choices.length < 10 ? { text, choices } : { text: question, choices: [] };
}
