// Keys that act on the whole page.

/** Whether a key is meant for a field and not for the page. */
export function typing(ev: KeyboardEvent): boolean {
  const el = ev.target instanceof Element ? ev.target : null;
  return ev.ctrlKey || ev.metaKey || ev.altKey || ev.isComposing || !!el?.closest("input:not([type=range]), textarea, select, [contenteditable], [popover]");
}
