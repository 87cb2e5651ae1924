// What can be done next, from what happened alone: nothing is invented.

import type { Call, View } from "./events";
import type { Word } from "./i18n.svelte";
import type { IconName } from "./icons";
import { phrase } from "./verbs";

export interface Next {
  icon: IconName;
  word: Word;
  fill: Record<string, string | number>;
  /** What is put into the message field; with file, that is opened instead. */
  say?: Word;
  file?: string;
}

const most = 3;
const name = (path: string) => path.slice(path.lastIndexOf("/") + 1);
const page = /\.(html?|pdf)$/i;

/** The calls since the last message of the person. */
function since(v: View): Call[] {
  const from = v.items.findLastIndex((i) => i.kind === "user");
  return v.items.slice(from + 1).filter((i): i is Call => i.kind === "call");
}

/** At most three things that follow from what was done for the last message. */
export function next(v: View): Next[] {
  const out: Next[] = [];
  const calls = since(v);
  // A failure that a later call of the same kind did not make good.
  const failed = calls.findLast((c, i) => (c.state === "failed" || c.bad) && !calls.slice(i + 1).some((d) => d.name === c.name && d.state === "done" && !d.bad));
  if (failed) {
    const what = phrase(failed).object || failed.name;
    out.push({ icon: "triangle-alert", word: "next_failed", fill: { what }, say: "next_failed_say" });
  }
  const denied = calls.findLast((c) => c.state === "denied");
  if (denied) out.push({ icon: "hand", word: "next_denied", fill: { what: phrase(denied).object || denied.name }, say: "next_denied_say" });
  const open = v.plan?.steps.filter((s) => s.status !== "completed") ?? [];
  if (open.length) out.push({ icon: "list-checks", word: "next_steps", fill: { n: open.length }, say: "next_steps_say" });
  const files = v.round.files;
  const shown = files.find((f) => page.test(f)) ?? files.find((f) => /\.(md|docx?|csv|xlsx?)$/i.test(f)) ?? files.find((f) => /\.(svg|png)$/i.test(f));
  if (shown) out.push({ icon: "eye", word: "next_open", fill: { name: name(shown) }, file: shown });
  const edited = v.changes.filter((c) => files.includes(c.path) && c.change === "modified");
  if (edited.length && !failed) out.push({ icon: "file-pen-line", word: "next_review", fill: { n: edited.length }, say: "next_review_say" });
  return out.slice(0, most);
}
