// Renders Markdown of agents as harmless HTML: no scripts, no styles, and nothing
// loaded from other servers, which would reveal that somebody reads it.

import createPurifier from "dompurify";
import { Growing, marked, toFile } from "./mdparse";

const purifier = createPurifier(window);
purifier.setConfig({
  ALLOWED_TAGS: [
    "p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong", "del", "a", "img", "table", "thead",
    "tbody", "tr", "th", "td", "input", "sup", "sub", "kbd", "details", "summary",
  ],
  ALLOWED_ATTR: ["href", "title", "alt", "src", "align", "start", "type", "checked", "disabled", "class"],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|#file:)/i,
  ADD_URI_SAFE_ATTR: ["align", "start", "type"], // no addresses are looked for in these
  ALLOW_DATA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
});

/**
 * Draws text into an element, and later again when there is more of it: of what
 * was drawn, only blocks that have changed are drawn anew. Each new one is
 * given to made. Pictures of the workspace are at the address that picture
 * says; without it, and of other servers, they are links.
 */
export class Drawing {
  #text = new Growing();
  #blocks: { raw: string; nodes: Node[] }[] = [];

  constructor(
    readonly el: HTMLElement,
    readonly made: (block: DocumentFragment) => void,
    readonly picture?: (path: string) => string,
  ) {}

  draw(text: string): void {
    const tokens = this.#text.read(text);
    let same = 0;
    if (!this.#text.linked) while (same < tokens.length && this.#blocks[same]?.raw === tokens[same]!.raw) same++;
    for (const b of this.#blocks.splice(same)) for (const n of b.nodes) (n as ChildNode).remove();
    for (const token of tokens.slice(same)) {
      const block = clean(marked.parser([token]), this.picture);
      this.made(block);
      this.#blocks.push({ raw: token.raw, nodes: [...block.childNodes] });
      this.el.append(block);
    }
  }
}

function clean(source: string, picture?: (path: string) => string): DocumentFragment {
  const root = purifier.sanitize(source) as unknown as DocumentFragment;
  for (const img of root.querySelectorAll("img")) {
    const src = img.getAttribute("src") ?? "";
    if (picture && src.startsWith(toFile) && /\.(png|jpe?g|gif|webp|svg)$/i.test(src)) {
      img.src = picture(decodeURIComponent(src.slice(toFile.length)));
      continue;
    }
    const a = document.createElement("a");
    a.href = img.getAttribute("src") ?? "";
    a.textContent = img.alt || a.href;
    img.replaceWith(a);
  }
  for (const a of root.querySelectorAll("a")) {
    const href = a.getAttribute("href") ?? "";
    if (href.startsWith(toFile)) {
      a.dataset["path"] = decodeURIComponent(href.slice(toFile.length));
      a.className = "to-file";
    } else {
      a.target = "_blank";
      a.rel = "noopener noreferrer nofollow";
      a.title = href; // where it really leads
    }
  }
  for (const input of root.querySelectorAll("input")) {
    if (input.type !== "checkbox") input.remove();
    input.disabled = true;
    input.ariaLabel = input.closest("li")?.textContent?.trim().slice(0, 100) || "☑";
  }
  for (const table of root.querySelectorAll("table")) {
    const box = document.createElement("div");
    box.className = "table scroll";
    box.tabIndex = 0;
    box.role = "group";
    table.replaceWith(box);
    box.append(table);
  }
  return root;
}
