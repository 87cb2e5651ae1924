// What tools say of their calls: see "says" in docs/events.md.

import earlier from "../../../../internal/gist/earlier.json";

export type Kind = "reads" | "finds" | "searches" | "fetches" | "browses" | "writes" | "draws" | "runs" | "plans" | "delegates" | "asks" | "ends" | "uses";

export interface Saying {
  if?: string;
  kind?: Kind;
  words?: Record<string, string>;
  on?: string[];
}

/** By the name of the tool. */
export type Says = Record<string, Saying[]>;

/** What of a call tells what it does. */
export interface Made {
  name: string;
  input: string;
  says?: Says; // of the tools of its session, as far as that is known
}

const parsed = new WeakMap<object, Record<string, any>>(); // calls do not change: copies take their places

/** The arguments of a call as an object; broken ones are none. */
export function args(c: Pick<Made, "input">): Record<string, any> {
  let known = parsed.get(c);
  if (!known) {
    try {
      known = JSON.parse(c.input);
    } catch {
      // see above
    }
    known = known && typeof known === "object" ? known : {};
    parsed.set(c, known);
  }
  return known;
}

/** An argument as a text: of a list, the first element. */
export function word(v: unknown): string {
  if (Array.isArray(v)) return word(v[0]);
  return v === undefined || v === null || typeof v === "object" ? "" : String(v);
}

function of(all: Says | undefined, name: string): Saying[] {
  return all && Object.hasOwn(all, name) ? all[name]! : [];
}

/** What is said of a call: by its tool, or by tools of that name before sessions recorded it. */
export function saying(c: Made): Saying {
  const says = of(c.says, c.name);
  return (says.length ? says : of(earlier as Says, c.name)).find((s) => {
    if (!s.if) return true;
    const [name, values] = s.if.split("=");
    return values!.split("|").includes(word(args(c)[name!]));
  }) ?? {};
}

/** The call that a call stands for: itself, unless its tool uses another one. */
export function meant<C extends Made>(c: C): C {
  if (saying(c).kind !== "uses") return c;
  const { name, arguments: inner, ...rest } = args(c);
  if (typeof name !== "string" || !name) return c;
  return { ...c, name, input: typeof inner === "string" ? inner : JSON.stringify(inner ?? rest) };
}

export const kindOf = (c: Made): Kind | undefined => saying(meant(c)).kind;
