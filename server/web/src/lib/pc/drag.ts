// The height of the computer on a phone, by a handle that is dragged.

export type Sheet = "closed" | "open" | "full";

/** Where a sheet comes to rest that was let go at a height, of a window so high. A quick flick goes on in its direction. */
export function rest(height: number, window: number, speed: number): Sheet {
  const part = (height + speed * 160) / Math.max(1, window);
  return part < 0.3 ? "closed" : part < 0.72 ? "open" : "full";
}

/** Lets a handle drag the height of the sheet around it. A press without a movement is left to the button. */
export function dragged(sheet: () => HTMLElement | null, done: (to: Sheet) => void): (el: HTMLElement) => () => void {
  return (el) => {
    let from = 0;
    let height = 0;
    let last = { y: 0, at: 0 };
    let speed = 0; // pixels in a millisecond, upwards
    let moving = false;
    const down = (ev: PointerEvent) => {
      from = ev.clientY;
      height = sheet()?.offsetHeight ?? 0;
      last = { y: ev.clientY, at: ev.timeStamp };
      moving = false;
      el.setPointerCapture(ev.pointerId);
    };
    const move = (ev: PointerEvent) => {
      const box = sheet();
      if (!box || !el.hasPointerCapture(ev.pointerId) || (!moving && Math.abs(ev.clientY - from) < 6)) return;
      moving = true;
      speed = (last.y - ev.clientY) / Math.max(1, ev.timeStamp - last.at);
      last = { y: ev.clientY, at: ev.timeStamp };
      box.classList.add("dragging");
      box.style.setProperty("height", Math.max(60, height + from - ev.clientY) + "px", "important");
    };
    const up = (ev: PointerEvent) => {
      const box = sheet();
      if (!box || !moving) return;
      const to = rest(box.offsetHeight, innerHeight, ev.type === "pointercancel" ? 0 : speed);
      box.classList.remove("dragging");
      box.style.removeProperty("height");
      done(to);
    };
    const click = (ev: Event) => moving && (ev.stopImmediatePropagation(), ev.preventDefault());
    const all = { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up } as const;
    for (const [type, f] of Object.entries(all)) el.addEventListener(type, f as EventListener);
    el.addEventListener("click", click, true);
    return () => {
      for (const [type, f] of Object.entries(all)) el.removeEventListener(type, f as EventListener);
      el.removeEventListener("click", click, true);
    };
  };
}
