// Reads Markdown: links to files of the workspace, and formulas, are tokens of their own. What comes out is not harmless yet.

import { Marked, type Token, type TokenizerAndRendererExtension, type Tokens } from "marked";
import { prose } from "./visible";

/** A link to a file of the workspace has this address, until the page makes it a link of its own. */
export const toFile = "#file:";

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

export const marked = new Marked({ gfm: true, breaks: false, async: false, extensions: formulas });

/** HTML without what would run in it: the purifier takes it away too, but the browser complains when it reads it there. */
const handler = /(<[^>]*?)\son\w+\s*=/gi;
const inert = (html: string): string => {
  const next = html.replace(handler, "$1 data-was=");
  return next === html ? html : inert(next);
};

marked.use({
  renderer: {
    html: (token: Tokens.HTML | Tokens.Tag) => inert(token.text),
    link(token: Tokens.Link) {
      const path = pathOf(token.href);
      return path ? `<a href="${escaped(toFile + encodeURIComponent(path))}">${this.parser.parseInline(token.tokens)}</a>` : false;
    },
    image(token: Tokens.Image) {
      const path = pathOf(token.href);
      return path ? `<img src="${escaped(toFile + encodeURIComponent(path))}" alt="${escaped(token.text || path)}">` : false;
    },
  },
});

/** Where a formula of several paragraphs may begin that has not ended yet. */
const mayGoOn = /\$\$|\\\[/;

/**
 * Reads a text that grows. Its last two blocks may become others with what follows, such as items of a list; those before
 * them are not read again, so that the work for each piece is that for the piece.
 */
export class Growing {
  #text = "";
  #safe = ""; // #text as prose
  #tokens: Token[] = [];
  #exact = false; // the tokens are all of #safe, and no link is defined in them

  /** The blocks of a text. Those at the beginning that are as before are the same objects. */
  read(text: string): Token[] {
    const grows = this.#exact && text.startsWith(this.#text) && !/[\ud800-\udbff]$/.test(this.#text);
    this.#safe = grows ? this.#safe + prose(text.slice(this.#text.length)) : prose(text);
    this.#text = text;
    const kept = grows ? this.#kept() : 0;
    const before = this.#tokens.slice(0, kept);
    const from = before.reduce((n, t) => n + t.raw.length, 0);
    let more = marked.lexer(this.#safe.slice(from));
    if (kept && Object.keys(more.links).length) more = marked.lexer(this.#safe); // a link definition applies to the whole text
    const whole = !kept || Object.keys(more.links).length > 0;
    this.#tokens = whole ? more : [...before, ...more];
    this.#exact = !Object.keys(more.links).length && this.#tokens.reduce((n, t) => n + t.raw.length, 0) === this.#safe.length;
    return this.#tokens;
  }

  /** How many blocks at the beginning stay. */
  #kept(): number {
    const most = Math.max(0, this.#tokens.length - 2);
    const open = this.#tokens.findIndex((t) => (t.type === "paragraph" || t.type === "text") && mayGoOn.test(t.raw));
    return open < 0 ? most : Math.min(most, open);
  }

  /** A link definition may change any block. */
  get linked(): boolean {
    return !this.#exact;
  }
}

/** The HTML of Markdown before it is made harmless; for tests. */
export function html(text: string): string {
  return marked.parse(text) as string;
}
