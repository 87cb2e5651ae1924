// The settings of a task that is about to begin.

import { api, type Named } from "../../lib/api";

export type Approval = "ask" | "edits" | "all" | "plan" | "readonly";
export type Way = "alone" | "plan" | "evaluate";

export class Task {
  agent = $state("");
  model = $state("");
  folder = $state(""); // "": a new one
  approve = $state<Approval>("ask");
  way = $state<Way>("alone");
  attempts = $state(3);
  steps = $state<number | null>(null);
  dollars = $state<number | null>(null);
  agents = $state.raw<Named[]>([]);
  models = $state.raw<Named[]>([]);

  constructor() {
    // What is not known here is as configured.
    api.agents().then((a) => ((this.agents = a), (this.agent ||= a.find((x) => x.default)?.name ?? "")), () => undefined);
    api.models().then((m) => ((this.models = m), (this.model ||= m.find((x) => x.default)?.name ?? "")), () => undefined);
  }

  /** The body of the request for a session. */
  request(): object {
    const usual = (all: Named[], name: string) => !name || !!all.find((x) => x.name === name)?.default;
    return {
      ...(!usual(this.agents, this.agent) && { agent: this.agent }),
      ...(!usual(this.models, this.model) && { model: this.model }),
      ...(this.folder.trim() && { workspace: this.folder.trim() }),
      approve: this.approve,
      limits: { ...(this.steps && { steps: this.steps }), ...(this.dollars && { cost_usd: this.dollars }) },
      ...(this.way === "plan" && { flow: {} }),
      ...(this.way === "evaluate" && { evaluate: { attempts: this.attempts } }),
    };
  }
}
