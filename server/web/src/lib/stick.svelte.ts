// A list that stays at its end while it grows, until the person scrolls up.

import { tick } from "svelte";

const near = 60; // pixels from the end that count as the end

export class Stick {
  stuck = $state(true);
  /** How many items came since the person left the end. */
  fresh = $state(0);
  #seen = 0;
  #box: () => HTMLElement | undefined;

  constructor(box: () => HTMLElement | undefined) {
    this.#box = box;
    $effect(() => {
      const el = box();
      if (!el) return;
      const resized = new ResizeObserver(() => this.stuck && this.#end());
      resized.observe(el);
      return () => resized.disconnect();
    });
  }

  /** There are n items now, or those that are there have changed. */
  grown(n: number): void {
    if (this.stuck) {
      this.#seen = n;
      this.fresh = 0;
      void tick().then(() => this.stuck && this.#end());
    } else this.fresh = Math.max(0, n - this.#seen);
  }

  scrolled(): void {
    const el = this.#box();
    if (el) this.stuck = el.scrollHeight - el.scrollTop - el.clientHeight < near;
  }

  toEnd(): void {
    this.stuck = true;
    this.fresh = 0;
    void tick().then(() => this.#end());
  }

  #end(): void {
    const el = this.#box();
    if (el) el.scrollTop = el.scrollHeight;
  }
}
