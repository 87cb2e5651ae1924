// What a session below does now, in words.

import type { Session } from "./api";
import type { Call } from "./events";
import { works } from "./status";
import { phrase, type Phrase } from "./verbs";
import { unmarked } from "./visible";

/** What a session does now, or what it wants of the person; "" if that is not known. */
export function stands(s: Session): string {
  const w = works(s.status) ? (s.waiting?.[0] ?? s.below?.[0]) : undefined;
  if (!w) return doing(s.doing ?? "");
  return w.kind === "ruling" ? line(w.tool, w.input, "asked") : unmarked(w.question.trim().split("\n")[0] ?? "");
}

/** The newest thing that a session did: a text, or a tool and its arguments, of which the end may be cut off. */
export function doing(text: string): string {
  const call = /^(\w+) (\{[^]*)$/.exec(text);
  if (!call) return text;
  return line(call[1]!, call[2]!, "running");
}

/** A call of which nothing else is known, in words. */
export function told(name: string, input: string, state: Call["state"]): Phrase {
  return phrase({ kind: "call", id: "", seq: 0, name, input, state, text: "", live: "", began: "" } as unknown as Call);
}

/** A call as one line. The end of its arguments may be cut off. */
function line(name: string, input: string, state: Call["state"]): string {
  const cut = /^\{\s*"[\w-]+":\s*"((?:[^"\\]|\\.)*)/.exec(input);
  const p = told(name, input, state);
  return [p.verb, p.object || (cut?.[1] ?? "").replace(/\\n[^]*$/, "").replace(/\\(.)/g, "$1")].filter(Boolean).join(" ");
}
