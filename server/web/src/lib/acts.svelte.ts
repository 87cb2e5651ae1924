// What a person does with a session, and what became of it.

import { Act } from "./act.svelte";
import { api, hrefOf, newID, type Limits } from "./api";
import { attach, type Chosen } from "./files";
import type { Live } from "./session.svelte";
import { sessions } from "./sessions.svelte";

export class Acts {
  readonly doing = new Act();
  /** The message that is being edited: sending it makes a branch from before it. */
  editing = $state.raw<{ seq: number; text: string } | null>(null);
  #sent = ""; // the id of a message that could not be sent yet
  #branch = ""; // the branch that was made for it

  constructor(
    readonly id: string,
    readonly live: Live,
  ) {}

  async #run(what: () => Promise<unknown>): Promise<boolean> {
    await this.doing.run(what);
    void this.live.refresh();
    return !this.doing.error;
  }

  /**
   * Sends a message, to a branch if an earlier one is edited. A message keeps
   * its id when it is sent again, so that it is stored once.
   */
  send(text: string, files: Chosen[]): Promise<boolean> {
    this.#sent ||= newID();
    return this.#run(async () => {
      const to = await this.#target();
      const { attachments, note } = await attach(to, files);
      await api.say(to, { id: this.#sent, text: text.trim() + note, attachments });
      this.#sent = this.#branch = "";
      this.editing = null;
      if (to !== this.id) location.hash = hrefOf(to);
    });
  }

  async #target(): Promise<string> {
    if (!this.editing) return this.id;
    return (this.#branch ||= (await api.fork(this.id, this.editing.seq - 1)).id);
  }

  branch(seq: number): Promise<boolean> {
    return this.#run(async () => {
      const copy = await api.fork(this.id, seq);
      await sessions.refresh();
      location.hash = hrefOf(copy.id);
    });
  }

  stop(): Promise<boolean> {
    return this.#run(() => api.interrupt(this.id));
  }

  retry(limits: Limits = {}): Promise<boolean> {
    return this.#run(() => api.retry(this.id, limits));
  }

  rename(title: string): Promise<boolean> {
    return this.#run(() => api.rename(this.id, title));
  }

  remove(): Promise<boolean> {
    return this.#run(async () => {
      await api.remove(this.id);
      sessions.drop(this.id);
      location.hash = "#/";
    });
  }
}
