// Renders Markdown of agents as harmless HTML: no scripts, no styles, and nothing
// loaded from other servers, which would reveal that somebody reads it.

import createPurifier from "dompurify";
import { Marked, type TokenizerAndRendererExtension, type Tokens } from "marked";
import { prose } from "./visible";

/** A link to a file of the workspace has this address, until the page makes it a link of its own. */
const toFile = "#file:";

/** The path that a link in Markdown names, or "" if it leads elsewhere. */
export function pathOf(href: string): string {
  if (/^[a-z][a-z0-9+.-]*:|^\/\/|^#|^\?/i.test(href)) return "";
  try {
    return decodeURIComponent(href).replace(/[?#].*$/, "").replace(/^(\.\/|\/)+/, "");
  } catch {
    return href;
  }
}

const escaped = (s: string) => s.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

/** A formula: a token of its own, so that Markdown leaves its backslashes and underscores alone. */
function formula(name: string, level: "block" | "inline", begin: RegExp, whole: RegExp, display: boolean): TokenizerAndRendererExtension {
  return {
    name,
    level,
    start: (src) => src.search(begin),
    tokenizer(src) {
      const m = whole.exec(src);
      return m ? { type: name, raw: m[0], text: m[1]!.trim() } : undefined;
    },
    renderer: (token) => {
      const code = `<code class="math-${display ? "block" : "inline"}">${escaped(token["text"])}</code>`;
      return level === "block" ? `<p>${code}</p>` : code;
    },
  };
}

/** One dollar is money as often as a formula: as in other programs, no space stands inside, and no digit after. */
const formulas = [
  formula("dollars", "block", /\$\$/, /^\$\$([\s\S]+?)\$\$(?:\n|$)/, true),
  formula("brackets", "block", /\\\[/, /^\\\[([\s\S]+?)\\\](?:\n|$)/, true),
  formula("dollarsInline", "inline", /\$\$/, /^\$\$([^$]+?)\$\$/, true),
  formula("bracketsInline", "inline", /\\\[/, /^\\\[([^\n]+?)\\\]/, true),
  formula("parens", "inline", /\\\(/, /^\\\(([\s\S]+?)\\\)/, false),
  formula("dollar", "inline", /\$(?=\S)/, /^\$((?:[^\s$\\]|\\.)(?:(?:[^$\n\\]|\\.)*(?:[^\s$\\]|\\.))?)\$(?!\d)/, false),
];

const marked = new Marked({ gfm: true, breaks: false, async: false, extensions: formulas });

marked.use({
  renderer: {
    link(token: Tokens.Link) {
      const path = pathOf(token.href);
      return path ? `<a href="${escaped(toFile + encodeURIComponent(path))}">${this.parser.parseInline(token.tokens)}</a>` : false;
    },
    image(token: Tokens.Image) {
      const path = pathOf(token.href);
      return path ? `<a href="${escaped(toFile + encodeURIComponent(path))}">${escaped(token.text || path)}</a>` : false;
    },
  },
});

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

/** The HTML of Markdown before it is made harmless; for tests. */
export function html(text: string): string {
  return marked.parse(text) as string;
}

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
    const tokens = marked.lexer(prose(text));
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

function clean(source: string): DocumentFragment {
  const root = purifier.sanitize(source) as unknown as DocumentFragment;
  for (const img of root.querySelectorAll("img")) {
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
