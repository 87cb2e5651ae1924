// What a call does, in words: "Edited src/totals.ts +9 −6".

import type { Call } from "./events";
import { settings, t, type Word } from "./i18n.svelte";
import type { IconName } from "./icons";
import { args, meant, saying, word, type Kind } from "./says";
import { unmarked, visible } from "./visible";

/** A call as one line: icon, verb, object, and what came of it. */
export interface Phrase {
  icon: IconName;
  kind?: Kind;
  verb: string;
  object: string; // foreign text; may be empty
  plain?: boolean; // the object is prose, not code
  result?: { word: Word; n: number | string };
  plus?: number; // lines of a change
  minus?: number;
}

const icons: Record<Kind, IconName> = {
  reads: "file-text", finds: "search", searches: "search", fetches: "globe", browses: "mouse-pointer-click", writes: "file-pen-line", draws: "chart-column",
  runs: "terminal", plans: "list-checks", delegates: "users", asks: "message-circle-question-mark", ends: "check", uses: "wrench",
};

/** The kinds of calls that work on prose. */
const prose: (Kind | undefined)[] = ["searches", "plans", "delegates", "asks", "ends"];

/** Names of arguments that say what a call works on, for tools that do not say it. */
const objects = ["path", "file_path", "url", "urls", "pattern", "query", "command", "code", "inquire", "ref", "text", "keys", "status"];

const first = (v: unknown) => word(v).trim().split("\n")[0] ?? "";
const count = (text: string) => (text ? text.replace(/\n$/, "").split("\n").length : 0);

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

export function phrase(made: Call): Phrase {
  const c = meant(made);
  const a = args(c);
  const { kind, words, on, if: only } = saying(c);
  const own = (words?.[settings.language] ?? words?.["en"] ?? "").split(", ");
  const known = own.length === 3;
  const [todo, doing, did] = known ? own : t("used").split(", ");
  const fill = (text: string) => text.replace(/\{(\w+)(\+1)?\}/g, (_, name: string, next) => (next ? String(Number(a[name]) + 1) : visible(known ? word(a[name]) : c.name)));
  const verb = fill(c.state === "running" ? doing! : did!);
  const p: Phrase = { icon: kind ? icons[kind] : "wrench", kind, verb: verb.slice(0, 1).toUpperCase() + verb.slice(1), object: "", plain: prose.includes(kind) };
  p.object = (on ?? [...objects, ...(only ? [] : ["action"]), "task", "title"]).map((name) => first(a[name])).find((text) => text) ?? "";
  p.object ||= /^\*\*\* \w+ File: (.*)$/m.exec(word(a["patch"] ?? a["input"]))?.[1] ?? "";
  if (kind === "asks") p.object = unmarked(p.object) + (c.state === "done" ? " → " + first(c.text) : "");
  if (kind === "finds" && a["path"]) p.object += " · " + first(a["path"]);
  if (c.state === "asked" && kind !== "asks") Object.assign(p, { icon: "hand", verb: t("wants", { do: fill(todo!) }) });
  if (typeof c.detail?.diff === "string") Object.assign(p, lines(c.detail.diff));
  else if (c.state === "done" && !c.bad && kind === "reads") p.result = { word: "lines", n: count(c.text) };
  else if (c.state === "done" && !c.bad && kind === "finds") p.result = { word: "places", n: count(c.text) };
  const code = /\[exit code (\d+)\]\s*$/.exec(c.text)?.[1];
  if (code && code !== "0") p.result = { word: "exit", n: code };
  return p;
}
