// Keeps the end of a growing text in view, unless the person has scrolled away from it.

const near = 60; // pixels

/** An attachment of the element that scrolls. */
export function stick(el: HTMLElement): () => void {
  let stuck = true;
  let mine = 0;
  const end = () => {
    if (!stuck) return;
    el.scrollTop = el.scrollHeight;
    mine = el.scrollTop;
  };
  const scrolled = () => {
    if (Math.abs(el.scrollTop - mine) < 2) return; // our own
    stuck = el.scrollHeight - el.clientHeight - el.scrollTop < near;
  };
  // With the next frame, which computes the layout anyhow, however many changes there are until then.
  let frame = 0;
  const soon = () => (frame ||= requestAnimationFrame(() => ((frame = 0), end())));
  const sizes = new ResizeObserver(soon);
  const more = new MutationObserver(soon);
  el.addEventListener("scroll", scrolled, { passive: true });
  sizes.observe(el);
  more.observe(el, { childList: true, subtree: true, characterData: true });
  end();
  return () => {
    el.removeEventListener("scroll", scrolled);
    sizes.disconnect();
    more.disconnect();
    cancelAnimationFrame(frame);
  };
}
