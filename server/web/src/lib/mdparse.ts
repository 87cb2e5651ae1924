// Reads Markdown: links to files of the workspace, and formulas, are tokens of their own. What comes out is not harmless yet.

import { Marked, type TokenizerAndRendererExtension, type Tokens } from "marked";

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

/** The HTML of Markdown before it is made harmless; for tests. */
export function html(text: string): string {
  return marked.parse(text) as string;
}
