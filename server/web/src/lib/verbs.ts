// What a call does, in words: "Edited src/totals.ts +9 −6".

import { args, type Call } from "./events";
import type { Word } from "./i18n.svelte";
import type { IconName } from "./icons";
import { unmarked } from "./visible";

/** A call as one line: icon, verb, object, and what came of it. */
export interface Phrase {
  icon: IconName;
  verb: Word;
  fill?: Record<string, string>; // of the verb
  object: string; // foreign text; may be empty
  plain?: boolean; // the object is prose, not code
  result?: { word: Word; n: number | string };
  plus?: number; // lines of a change
  minus?: number;
}

type Verb = (a: Record<string, any>, c: Call) => Omit<Phrase, "result" | "plus" | "minus"> & { result?: Phrase["result"] };

const live = (c: Call) => c.state === "running";
const first = (v: unknown) => (typeof v === "string" ? (v.trim().split("\n")[0] ?? "") : "");
const count = (text: string) => (text ? text.replace(/\n$/, "").split("\n").length : 0);

const ran: Verb = (a, c) => ({ icon: "terminal", verb: live(c) ? "running_" : "ran", object: first(a.command ?? a.code) });
const wrote: Verb = (a, c) => ({ icon: "file-plus", verb: live(c) ? "writing" : "wrote", object: first(a.path ?? a.file_path) });
const edited: Verb = (a, c) => ({ icon: "file-pen-line", verb: live(c) ? "editingIt" : "edited", object: first(a.path ?? a.file_path) });
const read: Verb = (a, c) => ({
  icon: "file-text", verb: live(c) ? "reading" : "readIt", object: first(a.path ?? a.file_path ?? a.ref), result: { word: "lines", n: count(c.text) },
});
const found: Verb = (a, c) => ({
  icon: "search", verb: live(c) ? "searching" : "searched", object: first(a.pattern) + (a.path ? " · " + first(a.path) : ""), result: { word: "places", n: count(c.text) },
});
const fetched: Verb = (a, c) => ({ icon: "globe", verb: live(c) ? "opening" : "opened", object: first(a.url ?? a.urls?.[0]) });

const browsing: Record<string, Word> = {
  go_to_url: "opened", open_tab: "opened", web_search: "searchedWeb", click_element: "pressed", input_text: "typed", scroll_down: "scrolled", scroll_up: "scrolled",
  scroll_to_text: "scrolled", select_dropdown_option: "chose", send_keys: "pressed",
};

const used: Verb = (a, c) => ({
  icon: "wrench", verb: live(c) ? "using" : "used", fill: { tool: c.name }, object: first(a.path ?? a.file_path ?? a.url ?? a.query ?? a.pattern ?? a.command ?? a.action ?? a.task),
});

const marked: Record<string, Word> = { completed: "step_done", in_progress: "step_begun", blocked: "step_stuck" };

const verbs: Record<string, Verb> = {
  bash: ran,
  python_execute: (a, c) => ({ ...ran(a, c), icon: "code", object: first(a.code) }),
  str_replace_editor: (a, c) => (a.command === "view" ? read : a.command === "create" ? wrote : edited)(a, c),
  apply_patch: (a, c) => ({ ...edited(a, c), object: /^\*\*\* \w+ File: (.*)$/m.exec(String(a.patch ?? a.input ?? ""))?.[1] ?? "" }),
  file_saver: wrote,
  read_document: read,
  read_output: read,
  grep: found,
  glob: found,
  web_fetch: fetched,
  crawl: fetched,
  web_search: (a, c) => ({ icon: "search", verb: live(c) ? "searchingWeb" : "searchedWeb", object: first(a.query), plain: true }),
  browser_use: (a) => ({
    icon: a.action === "web_search" ? "search" : browsing[a.action] === "opened" ? "globe" : "mouse-pointer-click",
    verb: browsing[a.action] ?? "usedBrowser",
    object: first(a.url ?? a.text ?? a.query ?? a.keys ?? (browsing[a.action] ? "" : a.action)),
  }),
  planning: (a) => (a.command === "mark_step" && marked[a.step_status] ? {
    icon: a.step_status === "completed" ? "check" : "list-checks", verb: marked[a.step_status]!, fill: { n: String(Number(a.step_index) + 1) }, object: first(a.step_notes), plain: true,
  } : {
    icon: "list-checks", verb: a.command === "create" ? "planned_" : a.command === "get" || a.command === "list" ? "readPlan" : "markedPlan",
    object: first(a.title ?? a.step_notes), plain: true,
  }),
  ask_human: (a, c) => ({
    icon: "message-circle-question-mark", verb: "asked", object: unmarked(first(a.inquire)) + (c.state === "done" ? " → " + first(c.text) : ""), plain: true,
  }),
  terminate: (a) => ({ icon: "check", verb: "ended", object: first(a.status), plain: true }),
  data_visualization: (a) => ({ icon: "chart-column", verb: "drew", object: first(a.json_path ?? a.path ?? a.title) }),
  data_report: (a, c) => ({ ...wrote(a, c), object: first(a.path ?? a.title), icon: "file-text" }),
  use_tool: (a, c) => {
    const inner = { ...c, name: String(a.name ?? ""), input: typeof a.arguments === "string" ? a.arguments : JSON.stringify(a.arguments ?? {}) };
    return c.name === inner.name ? used(a, c) : (verbs[inner.name] ?? used)(args(inner), inner);
  },
};

/** How many lines a unified diff adds and removes. */
export function lines(diff: string): { plus: number; minus: number } {
  let plus = 0;
  let minus = 0;
  for (const l of diff.split("\n")) {
    if (l.startsWith("+") && !l.startsWith("+++ ")) plus++;
    else if (l.startsWith("-") && !l.startsWith("--- ")) minus++;
  }
  return { plus, minus };
}

/** What a call would do that waits for a person. */
function wanted(p: Phrase, tool: string): Pick<Phrase, "verb" | "fill" | "icon"> {
  if (p.verb === "ran") return { icon: "hand", verb: "wants_run" };
  if (p.verb === "edited" || p.verb === "wrote") return { icon: "hand", verb: "wants_edit" };
  if (p.verb === "opened") return { icon: "hand", verb: "wants_open" };
  return p.verb === "asked" ? p : { icon: "hand", verb: "wants_use", fill: { tool } };
}

export function phrase(c: Call): Phrase {
  const a = args(c);
  const hand = typeof a.task === "string" && /delegate|^create_/.test(c.name);
  const p: Phrase = hand ? { icon: "users", verb: "delegated", fill: { agent: String(a.agent ?? c.name) }, object: first(a.task), plain: true } : (verbs[c.name] ?? used)(a, c);
  if (c.state === "asked") Object.assign(p, wanted(p, c.name));
  if (c.state !== "done" || c.bad) delete p.result;
  if (typeof c.detail?.diff === "string") Object.assign(p, lines(c.detail.diff), { result: undefined });
  const code = /\[exit code (\d+)\]\s*$/.exec(c.text)?.[1];
  if (code && code !== "0") p.result = { word: "exit", n: code };
  return p;
}
