// Renders Markdown of agents as harmless HTML: no scripts, no styles, and nothing
// loaded from other servers, which would reveal that somebody reads it.

import DOMPurify from "dompurify";
import { Marked } from "marked";

const marked = new Marked({ gfm: true, breaks: false, async: false });

const allowed = {
  ALLOWED_TAGS: [
    "p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong", "del", "a", "img", "table", "thead",
    "tbody", "tr", "th", "td", "input", "sup", "sub", "kbd", "details", "summary",
  ],
  ALLOWED_ATTR: ["href", "title", "alt", "src", "align", "start", "type", "checked", "disabled", "class"],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|#)/i,
  ADD_URI_SAFE_ATTR: ["align", "start", "type"], // no addresses are looked for in these
  ALLOW_DATA_ATTR: false,
};

DOMPurify.setConfig({ ...allowed, RETURN_DOM_FRAGMENT: true });

/**
 * Draws text into an element, and later again when there is more of it: of what
 * was drawn, only blocks that have changed are drawn anew. Each new one is
 * given to made.
 */
export class Drawing {
  #blocks: { raw: string; nodes: Node[] }[] = [];

  constructor(
    readonly el: HTMLElement,
    readonly made: (block: DocumentFragment) => void,
  ) {}

  draw(text: string): void {
    const tokens = marked.lexer(text);
    // A link definition applies to the whole text.
    let same = 0;
    if (!Object.keys(tokens.links).length) while (same < tokens.length && this.#blocks[same]?.raw === tokens[same]!.raw) same++;
    for (const b of this.#blocks.splice(same)) for (const n of b.nodes) (n as ChildNode).remove();
    for (const token of tokens.slice(same)) {
      const block = clean(marked.parser([token]));
      this.made(block);
      this.#blocks.push({ raw: token.raw, nodes: [...block.childNodes] });
      this.el.append(block);
    }
  }
}

function clean(html: string): DocumentFragment {
  const root = DOMPurify.sanitize(html) as unknown as DocumentFragment;
  for (const img of root.querySelectorAll("img")) {
    const a = document.createElement("a");
    a.href = img.getAttribute("src") ?? "";
    a.textContent = "🖼 " + (img.alt || a.href);
    img.replaceWith(a);
  }
  for (const a of root.querySelectorAll("a")) {
    a.target = "_blank";
    a.rel = "noopener noreferrer nofollow";
  }
  for (const input of root.querySelectorAll("input")) {
    if (input.type !== "checkbox") input.remove();
    input.disabled = true;
    input.ariaLabel = input.closest("li")?.textContent?.trim().slice(0, 100) || "☑";
  }
  return root;
}

const inMaths = /\$\$([^$]+)\$\$|\\\[([\s\S]+?)\\\]|\\\(([\s\S]+?)\\\)/g;

/** Draws the formulas in a block, if there are any; the library comes then. */
export async function maths(el: HTMLElement): Promise<void> {
  if (!/\$\$|\\\[|\\\(/.test(el.textContent ?? "")) return;
  const { default: temml } = await import("temml");
  const walk = document.createTreeWalker(el, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  while (walk.nextNode()) {
    const t = walk.currentNode as Text;
    if (!t.parentElement?.closest("code, pre")) texts.push(t);
  }
  for (const t of texts) {
    const pieces: (Node | string)[] = [];
    let at = 0;
    for (const m of t.data.matchAll(inMaths)) {
      const out = document.createElement("span");
      temml.render((m[1] ?? m[2] ?? m[3])!, out, { displayMode: m[3] === undefined, throwOnError: false, trust: false });
      pieces.push(t.data.slice(at, m.index), out);
      at = m.index + m[0].length;
    }
    if (at > 0) t.replaceWith(...pieces, t.data.slice(at));
  }
}
