// The agent's browser, as it is now: its pictures come while someone looks.

import { at, base, call } from "../api";
import { compact, type Input } from "./point";

export interface Screen {
  open: boolean;
  taken?: boolean;
  url?: string;
  tabs?: number;
  image?: string; // JPEG in base64
  width?: number;
  height?: number;
  marks?: { index: number; x: number; y: number; width: number; height: number }[];
  dialog?: { kind: string; message: string; default?: string } | null;
}

const patience = 30; // milliseconds in which inputs are gathered
const holds = 30_000; // milliseconds between signs of life

/** Watches the browser of a session while it is open and the window is in sight. */
export class Watching {
  screen = $state.raw<Screen | null>(null); // null: not known yet
  image = $state("");
  mine = $state(false); // this page has taken it over
  busy = $state(false);
  error = $state("");

  #id: string;
  #marks = false;
  #source: EventSource | null = null;
  #inputs: Input[] = [];
  #sending: Promise<void> | null = null;
  #holding: ReturnType<typeof setInterval> | undefined;
  #sight = () => (document.hidden && !this.mine ? this.#stop() : this.#start());

  constructor(id: string, marks: boolean) {
    this.#id = id;
    this.#marks = marks;
    document.addEventListener("visibilitychange", this.#sight);
    this.#sight();
  }

  #start(): void {
    if (this.#source) return;
    const s = new EventSource(`${base}${at(this.#id)}/screen${this.#marks ? "?marks=true" : ""}`);
    this.#source = s;
    s.addEventListener("screen", (ev) => {
      const now = JSON.parse((ev as MessageEvent).data) as Screen;
      if (now.image) this.image = "data:image/jpeg;base64," + now.image;
      if (!now.open) this.image = "";
      if (this.mine && !this.busy && !now.taken) this.#lost();
      this.screen = now;
    });
  }

  #stop(): void {
    this.#source?.close();
    this.#source = null;
  }

  /** Shows where the elements are that the model sees, or no longer. */
  set marks(on: boolean) {
    if (on === this.#marks) return;
    this.#marks = on;
    this.#stop();
    this.#sight();
  }

  async #act(what: () => Promise<unknown>): Promise<boolean> {
    this.busy = true;
    this.error = "";
    try {
      await what();
    } catch (e) {
      this.error = e instanceof Error ? e.message : String(e);
    }
    this.busy = false;
    return !this.error;
  }

  async take(): Promise<void> {
    if (!(await this.#act(() => call("POST", at(this.#id) + "/screen/takeover")))) return;
    this.mine = true;
    this.#holding = setInterval(() => this.send({ kind: "hold" }), holds);
  }

  async give(): Promise<void> {
    clearInterval(this.#holding);
    await this.#sending;
    await this.#act(() => call("DELETE", at(this.#id) + "/screen/takeover"));
    this.mine = false;
  }

  #lost(): void {
    clearInterval(this.#holding);
    this.mine = false;
  }

  /** Sends what the person did, in order; what comes while a request is under way goes with the next. */
  send(...inputs: Input[]): void {
    if (!this.mine) return;
    this.#inputs.push(...inputs);
    this.#sending ??= this.#flush();
  }

  async #flush(): Promise<void> {
    while (this.#inputs.length) {
      await new Promise((done) => setTimeout(done, patience));
      const inputs = compact(this.#inputs.splice(0, 200));
      await call("POST", at(this.#id) + "/screen/input", { inputs }).catch((e) => (this.error = e instanceof Error ? e.message : String(e)));
    }
    this.#sending = null;
  }

  close(): void {
    document.removeEventListener("visibilitychange", this.#sight);
    this.#stop();
    if (this.mine) void this.give();
  }
}
