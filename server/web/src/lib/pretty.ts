// What makes Markdown pretty and is loaded when it is needed: formulas and the colours of code.

import createPurifier from "dompurify";

const purifier = createPurifier(window);

/** Draws the formulas in an element. */
export async function formulas(el: ParentNode): Promise<void> {
  const all = el.querySelectorAll<HTMLElement>("code[class^=math-]");
  if (!all.length) return;
  const { default: temml } = await import("temml");
  for (const code of all) {
    const displayMode = code.className === "math-block";
    const source = temml.renderToString(code.textContent ?? "", { displayMode, throwOnError: false, trust: false });
    // The policy of the page forbids styles in attributes; formulas are readable without.
    const fragment = purifier.sanitize(source.replace(/ style="[^"]*"/g, ""), { USE_PROFILES: { mathMl: true }, RETURN_DOM_FRAGMENT: true });
    code.replaceWith(fragment as unknown as DocumentFragment);
  }
}

const most = 100_000; // characters of code that get colours

/** Gives code in a known language its colours. */
export async function colours(code: HTMLElement, language: string): Promise<void> {
  const text = code.textContent ?? "";
  if (!language || text.length > most) return;
  const { default: hljs } = await import("./highlight");
  if (!hljs.getLanguage(language) || code.textContent !== text) return;
  const fragment = purifier.sanitize(hljs.highlight(text, { language, ignoreIllegals: true }).value, {
    ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"], RETURN_DOM_FRAGMENT: true,
  });
  code.replaceChildren(fragment as unknown as DocumentFragment);
}

/** The language of a file, by its name; "" if it has none that is known. */
export function languageOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  if (name === "dockerfile" || name === "makefile") return name;
  return name.includes(".") ? name.slice(name.lastIndexOf(".") + 1) : "";
}
