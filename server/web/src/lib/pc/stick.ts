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
  const sizes = new ResizeObserver(end);
  const more = new MutationObserver(end);
  el.addEventListener("scroll", scrolled, { passive: true });
  sizes.observe(el);
  more.observe(el, { childList: true, subtree: true, characterData: true });
  end();
  return () => {
    el.removeEventListener("scroll", scrolled);
    sizes.disconnect();
    more.disconnect();
  };
}
