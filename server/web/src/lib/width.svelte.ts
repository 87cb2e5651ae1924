// How the window is shared between the conversation and the computer.

import { keep, kept } from "./i18n.svelte";

const least = 320; // pixels of the conversation, and of the computer

export class Split {
  width = $state(Number(kept("talk width")) || 0); // of the conversation; 0: as the design has it

  /** What can be dragged: a button between both. Arrow keys do the same. */
  divider = (el: HTMLElement) => {
    const grid = el.parentElement!;
    const show = () => grid.style.setProperty("--talk", this.width ? `min(${this.width}px, 100% - ${least + 8}px)` : "minmax(400px, 0.95fr)");
    const set = (px: number) => {
      this.width = Math.round(Math.max(least, Math.min(px, grid.clientWidth - least)));
      keep("talk width", String(this.width));
      show();
    };
    const now = () => el.getBoundingClientRect().left - grid.getBoundingClientRect().left;
    el.onpointerdown = (ev) => {
      el.setPointerCapture(ev.pointerId);
      el.onpointermove = (move) => set(move.clientX - grid.getBoundingClientRect().left);
      el.onpointerup = el.onpointercancel = () => (el.onpointermove = null);
    };
    el.onkeydown = (ev) => {
      const step = { ArrowLeft: -24, ArrowRight: 24 }[ev.key];
      if (!step) return;
      ev.preventDefault();
      set(now() + step);
    };
    el.ondblclick = () => ((this.width = 0), keep("talk width", ""), show());
    show();
  };
}
