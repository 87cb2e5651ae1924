// Why a session halted, as a sentence and what to do about it.

import type { Limits, Session } from "./api";
import type { Why } from "./events";
import { dollars, duration } from "./format";
import type { Word } from "./i18n.svelte";
import type { IconName } from "./icons";

export interface Trouble {
  icon: IconName;
  head: Word;
  fill: Record<string, string>;
  advice: Word;
  /** The limit that stopped it: what it may use now, and what is added when the person lets it go on. */
  limit?: { of: keyof Limits; now: number; more: number; unit: (n: number) => string };
  /** A key, or another model, is what it needs. */
  settings: boolean;
}

/** What a model's failure is called; by kind, and by the status where a kind covers several. */
function failure(why: Why, error: string): [IconName, Word, Word] {
  if (/insufficient_quota|billing|credit balance|payment/i.test(error) || why.status === 402) return ["wallet", "trouble_funds", "trouble_funds_do"];
  if (why.kind === "auth") return ["key-round", "trouble_key", "trouble_key_do"];
  if (why.kind === "rate_limit") return ["clock", "trouble_busy", "trouble_busy_do"];
  if (why.kind === "network" || why.kind === "timeout" || why.status >= 500) return ["wifi-off", "trouble_away", "trouble_away_do"];
  if (why.kind === "context") return ["brain", "trouble_long", "trouble_long_do"];
  return ["triangle-alert", "trouble_model", "trouble_model_do"];
}

/** PROVIDER of PROVIDER/NAME. */
const providerOf = (model: string) => (model.includes("/") ? model.slice(0, model.indexOf("/")) : "");

/** Twice what was used, in round numbers: a person who goes on wants to get somewhere. */
export function more(now: number): number {
  if (!(now > 0)) return 1;
  const digit = 10 ** Math.floor(Math.log10(now));
  return Number((Math.ceil(now / 2 / digit) * digit).toPrecision(3));
}

export function trouble(why: Why, error: string, info: Session | null): Trouble {
  const limits = info?.limits ?? {};
  const base = { icon: "triangle-alert" as IconName, fill: {}, advice: "trouble_limit_do" as Word, settings: false };
  const of = (name: keyof Limits, used: number): number => Math.max(limits[name] ?? 0, used);
  if (why.failed) {
    const [icon, head, advice] = failure(why, error);
    const settings = ["trouble_key", "trouble_funds", "trouble_away"].includes(head);
    return { icon, head, advice, settings, fill: { provider: providerOf(info?.model ?? "") } };
  }
  const used = info?.usage;
  switch (why.kind) {
    case "money": {
      const now = of("cost_usd", used?.cost_usd ?? 0);
      return { ...base, icon: "wallet", head: "trouble_money", fill: { cost: dollars(limits.cost_usd || now) }, limit: { of: "cost_usd", now, more: more(now), unit: dollars } };
    }
    case "tokens": {
      const now = of("tokens", (used?.input_tokens ?? 0) + (used?.output_tokens ?? 0));
      const unit = (n: number) => n.toLocaleString("en");
      return { ...base, icon: "wallet", head: "trouble_tokens", fill: { n: unit(limits.tokens || now) }, limit: { of: "tokens", now, more: more(now), unit } };
    }
    case "steps": {
      const now = limits.steps || info?.steps || 1;
      return { ...base, head: "trouble_steps", fill: { n: String(now) }, limit: { of: "steps", now, more: more(now), unit: String } };
    }
    case "time": {
      const now = limits.seconds || 3600;
      return { ...base, icon: "clock", head: "trouble_time", limit: { of: "seconds", now, more: more(now), unit: duration } };
    }
    case "stuck":
      return { ...base, head: "trouble_stuck", advice: "trouble_stuck_do" };
    default:
      return { ...base, head: "trouble_other", advice: "trouble_model_do" };
  }
}
