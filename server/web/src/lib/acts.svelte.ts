// What a person does with a session, and what became of it.

import { Act } from "./act.svelte";
import { api, hrefOf, newID, Refused, type Limits, type Rewinding } from "./api";
import { attach, type Brought, type Chosen } from "./files";
import type { Live } from "./session.svelte";
import { sessions } from "./sessions.svelte";

/** What comes back: files, what was said, or both. */
export type Which = "both" | "files" | "talk";

/** What the person is about to do at an event, and what is said there afterwards. */
export interface Point {
  kind: "back" | "redo" | "branch";
  to: number; // the last event that still stands
  of?: string; // the message that it is before
  say?: { text: string; files: Chosen[]; brought?: Brought };
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));
const patience = 30_000; // milliseconds in which a session stops that is to go back

export class Acts {
  readonly doing = new Act();
  /** The message that is being edited: it is sent in place of the old one. */
  editing = $state.raw<{ seq: number; text: string; brought: Brought } | null>(null);
  /** What is being asked about before it is done. */
  point = $state.raw<Point | null>(null);
  /** What a message field is to contain, as soon as it looks. */
  draft = $state("");
  /** How many messages were sent from here. */
  spoken = $state(0);
  #sent = ""; // the id of a message that could not be sent yet

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
   * Sends a message. One that takes the place of an earlier one is sent when the
   * person has agreed to what that changes. A message keeps its id when it is
   * sent again, so that it is stored once.
   */
  async send(text: string, files: Chosen[]): Promise<boolean> {
    if (this.editing) {
      this.point = { kind: "back", to: this.editing.seq - 1, of: this.editing.text, say: { text, files, brought: this.editing.brought } };
      return false;
    }
    return this.#run(() => this.#say(this.id, { text, files }));
  }

  async #say(to: string, { text, files, brought }: NonNullable<Point["say"]>): Promise<void> {
    this.#sent ||= newID();
    const { attachments, note } = await attach(to, files, brought);
    await api.say(to, { id: this.#sent, text: text.trim() + note, attachments });
    this.#sent = "";
    this.editing = null;
    this.spoken++;
  }

  /** What going back would do, without doing it. */
  plan(p: Point, which: Which): Promise<Rewinding> {
    if (p.kind === "redo") return api.redo(this.id, true);
    return api.rewind(this.id, { to: p.to, ...(which !== "both" && { [which]: true }), dry_run: true });
  }

  /** Goes back, and says there what is to be said. A session that is at work is stopped first. */
  goBack(p: Point, which: Which): Promise<boolean> {
    return this.#run(async () => {
      if (this.live.info?.status === "running") await api.interrupt(this.id).catch(() => undefined); // it may just have ended
      const go = () => (p.kind === "redo" ? api.redo(this.id, false) : api.rewind(this.id, { to: p.to, ...(which !== "both" && { [which]: true }) }));
      for (const since = Date.now(); ; await pause(300)) {
        try {
          await go();
          break;
        } catch (e) {
          if (!(e instanceof Refused) || e.status !== 409 || Date.now() - since > patience) throw e;
        }
      }
      this.live.look(null);
      if (p.say) await this.#say(this.id, p.say);
      else if (p.of && which !== "files") this.draft = p.of;
      this.point = null;
    });
  }

  /** Makes a branch, with files of its own or those of this session, and says there what is to be said. */
  branch(p: Point, share: boolean): Promise<boolean> {
    return this.#run(async () => {
      const copy = await api.fork(this.id, p.to, share);
      if (p.say) await this.#say(copy.id, p.say);
      this.point = null;
      await sessions.refresh();
      location.hash = hrefOf(copy.id);
    });
  }

  /** Changes what the session goes on with. */
  change(c: { approve?: string; model?: string }): Promise<boolean> {
    return this.#run(() => api.change(this.id, c));
  }

  /** Approves the plan that waits, as it is or as text has it. */
  approvePlan(mode: string, text: string): Promise<boolean> {
    return this.#run(() => api.approvePlan(this.id, { mode, ...(text && { text }) }));
  }

  stop(): Promise<boolean> {
    return this.#run(() => api.interrupt(this.id));
  }

  retry(limits: Limits = {}): Promise<boolean> {
    return this.#run(() => api.retry(this.id, limits));
  }

  rename(title: string): Promise<boolean> {
    return this.#run(() => api.change(this.id, { title }));
  }

  remove(): Promise<boolean> {
    return this.#run(async () => {
      await api.remove(this.id);
      sessions.drop(this.id);
      location.hash = "#/";
    });
  }
}
