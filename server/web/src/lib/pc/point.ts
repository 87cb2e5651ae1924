// Where a pointer is on the picture of a page, and what a key says.

import type { Schemas } from "../types";

export type Input = Schemas["ScreenInput"];

/** A place in CSS pixels of the page, from one in a box that shows the whole view. */
export function placeIn(box: { left: number; top: number; width: number; height: number }, x: number, y: number, width: number, height: number): { x: number; y: number } {
  const clamp = (v: number, most: number) => Math.round(Math.min(Math.max(0, v), Math.max(0, most - 1)) * 10) / 10;
  return { x: clamp(((x - box.left) / Math.max(1, box.width)) * width, width), y: clamp(((y - box.top) / Math.max(1, box.height)) * height, height) };
}

const named = new Set([
  "Enter", "Tab", "Escape", "Backspace", "Delete", "Home", "End", "PageUp", "PageDown", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight",
]);

/** What a key types or presses; null for one that does nothing by itself. */
export function inputOf(ev: { key: string; ctrlKey: boolean; metaKey: boolean; altKey: boolean; shiftKey: boolean }): Input | null {
  const held = (ev.ctrlKey || ev.metaKey ? "Control+" : "") + (ev.altKey ? "Alt+" : "");
  if (named.has(ev.key)) return { kind: "key", key: held + (ev.shiftKey ? "Shift+" : "") + ev.key };
  if ([...ev.key].length !== 1) return null;
  return held === "Control+" ? { kind: "key", key: held + ev.key.toLowerCase() } : held ? null : { kind: "text", text: ev.key };
}

/** Inputs with the moves in between left out: only where the pointer ends matters. */
export function compact(all: Input[]): Input[] {
  const kept: Input[] = [];
  for (const i of all) {
    const last = kept.at(-1);
    if (i.kind === "move" && last?.kind === "move") kept.pop();
    if (i.kind === "text" && last?.kind === "text") kept.push({ kind: "text", text: kept.pop()!.text! + i.text });
    else if (i.kind === "wheel" && last?.kind === "wheel") kept.push({ ...i, dx: (i.dx ?? 0) + (kept.pop()!.dx ?? 0), dy: (i.dy ?? 0) + (last.dy ?? 0) });
    else kept.push(i);
  }
  return kept;
}
