// Many calls in a few words: "ran 3 commands, edited 2 files".

import type { Call } from "./events";
import { settings, t, type Word } from "./i18n.svelte";
import { phrase } from "./verbs";

/** The sorts of work in the order in which they are told, and the verbs that belong to each. */
const sorts: [Word, Word[]][] = [
  ["sum_searched", ["searched", "searchedWeb"]],
  ["sum_opened", ["opened", "pressed", "typed", "scrolled", "chose", "usedBrowser"]],
  ["sum_read", ["readIt"]],
  ["sum_ran", ["ran"]],
  ["sum_wrote", ["wrote", "edited", "deleted", "drew"]],
  ["sum_delegated", ["delegated"]],
  ["sum_asked", ["asked"]],
];

/** What calls did. Of one kind, the same object counts once where that is what people would count. */
export function summary(calls: Call[]): string {
  const all = calls.map(phrase);
  const parts: string[] = [];
  for (const [word, verbs] of sorts) {
    const mine = all.filter((p) => verbs.includes(p.verb));
    const n = word === "sum_wrote" || word === "sum_read" ? new Set(mine.map((p) => p.object)).size : mine.length;
    if (n) parts.push(t(word, { n }));
  }
  if (!parts.length) return [...new Set(calls.map((c) => c.name))].slice(0, 3).join(", ");
  return parts.join(settings.language === "zh" ? "，" : ", ");
}
