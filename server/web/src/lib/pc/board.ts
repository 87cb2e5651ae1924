// The plan as a board: its steps by how they stand.

import type { Plan, Session } from "../api";
import { stands } from "../doing";
import { works } from "../status";

export type Column = "done" | "now" | "wait" | "later";
export const columns: Column[] = ["done", "now", "wait", "later"];

export interface Card {
  text: string;
  about: string; // what came of it, or what it does now
  agent: string;
  session: string;
  cost: number | null; // in dollars; null: not known, or nothing
}

/** The cards of a plan. children are the sessions that do its steps. */
export function board(plan: Plan, children: Session[]): Record<Column, Card[]> {
  const out: Record<Column, Card[]> = { done: [], now: [], wait: [], later: [] };
  for (const s of plan.steps) {
    const c = children.find((x) => x.id === s.session);
    const asks = !!c && works(c.status) && !!(c.waiting?.length || c.below?.length);
    const column: Column = s.status === "completed" ? "done" : s.status === "blocked" || asks ? "wait" : s.status === "in_progress" ? "now" : "later";
    const about = s.notes || (c && (asks || column === "now") ? stands(c) : "");
    out[column].push({ text: s.text, about: about.split("\n")[0] ?? "", agent: s.agent ?? c?.agent ?? "", session: s.session ?? "", cost: c?.usage.cost_usd || null });
  }
  return out;
}
