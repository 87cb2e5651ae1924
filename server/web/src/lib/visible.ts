// Characters that do not show, or that hide or reorder what stands beside them:
// control, format and private characters, spaces but the usual ones, line
// separators, selectors of variants, and blanks that are letters to Unicode. The
// server's Go code has the same list, in internal/clip.
const hidden = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Zs}\p{Variation_Selector}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]/gu;

const shown = "\n\t \u3000";
const named = new Map([["\r", "r"], ["\v", "v"], ["\f", "f"], ["\b", "b"], ["\x07", "a"]]);

/** Foreign text with an escape in place of each character that does not show. A person decides by what they see. */
export function visible(s: string): string {
  return s.replace(hidden, (c) => {
    if (shown.includes(c)) return c;
    const code = c.codePointAt(0)!;
    const hex = (n: number) => code.toString(16).padStart(n, "0");
    return "\\" + (named.get(c) ?? (code < 0x80 ? "x" + hex(2) : code < 0x10000 ? "u" + hex(4) : "U" + hex(8)));
  });
}

// In prose, these are part of how words and pictures of many languages are written.
const usual = /[\u200c\u200d\ufe0e\ufe0f]|\p{Zs}/u;

/** Prose with an escape in place of each character that hides, or that turns the direction of what stands beside it. */
export function prose(s: string): string {
  return s.replace(hidden, (c) => (usual.test(c) ? c : visible(c)));
}

/** One line of Markdown as plain words: without the marks of emphasis and code. */
export function unmarked(line: string): string {
  return line.replace(/(\*\*|__|`+)(\S|\S.*?\S)\1/g, "$2").replace(/(^|[\s(])([*_])(\S|\S.*?\S)\2(?=[\s).,:;?!]|$)/g, "$1$3").replace(/^#{1,6} /, "");
}
