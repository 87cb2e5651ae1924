// Many calls in a few words: "ran 3 commands, edited 2 files".

import type { Call } from "./events";
import { settings, t, type Word } from "./i18n.svelte";
import type { Kind } from "./says";
import { phrase } from "./verbs";

/** The sorts of work in the order in which they are told, and the kinds of calls that belong to each. */
const sorts: [Word, (Kind | undefined)[]][] = [
  ["sum_searched", ["finds", "searches"]],
  ["sum_opened", ["fetches", "browses"]],
  ["sum_read", ["reads"]],
  ["sum_ran", ["runs"]],
  ["sum_wrote", ["writes", "draws"]],
  ["sum_delegated", ["delegates"]],
  ["sum_asked", ["asks"]],
];

/** What calls did. Of one kind, the same object counts once where that is what people would count. */
export function summary(calls: Call[]): string {
  const all = calls.map(phrase);
  const parts: string[] = [];
  for (const [word, kinds] of sorts) {
    const mine = all.filter((p) => kinds.includes(p.kind));
    const n = word === "sum_wrote" || word === "sum_read" ? new Set(mine.map((p) => p.object)).size : mine.length;
    if (n) parts.push(t(word, { n }));
  }
  if (!parts.length) return [...new Set(calls.map((c) => c.name))].slice(0, 3).join(", ");
  return parts.join(settings.language === "zh" ? "，" : ", ");
}
