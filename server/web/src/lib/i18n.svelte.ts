// The language and the theme that the person chose, and the words of the page.

import type { Word } from "./words/en";

export type { Word };

/** Every file of words is a language, by its tag. */
const files = import.meta.glob<{ name: string; words: Record<Word, string> }>("./words/*.ts", { eager: true });
export const languages = Object.fromEntries(Object.entries(files).map(([path, file]) => [path.replace(/^.*\/|\.ts$/g, ""), file]));

const first = (wanted: string) => (wanted in languages ? wanted : (Object.keys(languages).find((l) => wanted.startsWith(l)) ?? "en"));

/** A choice that was kept in this browser, which may have no storage. */
export function kept(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Keeps a choice. Without storage it lasts until the page is closed. */
export function keep(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // see above
  }
}

class Settings {
  language = $state(first(kept("language") ?? globalThis.navigator?.language ?? "en"));
  theme = $state(kept("theme") ?? "");

  constructor() {
    if (!globalThis.document) return; // in a test of pure functions
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#show());
    this.#show();
  }

  /** Takes the next language. */
  flipLanguage(): void {
    const all = Object.keys(languages);
    this.language = all[(all.indexOf(this.language) + 1) % all.length]!;
    keep("language", this.language);
    this.#show();
  }

  flipTheme(): void {
    this.theme = this.#dark() ? "light" : "dark";
    keep("theme", this.theme);
    this.#show();
  }

  #dark(): boolean {
    return this.theme ? this.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  #show(): void {
    document.documentElement.lang = this.language;
    document.documentElement.dataset.theme = this.#dark() ? "dark" : "light";
  }
}

export const settings = new Settings();

/** A text of the page, with {x} filled in; of "one|many", the one for n. */
export function t(word: Word, fill: Record<string, string | number> = {}): string {
  const forms = languages[settings.language]!.words[word].split("|");
  const one = "n" in fill && new Intl.PluralRules(settings.language).select(Number(String(fill.n).replace(/\D/g, ""))) === "one";
  const form = forms.length > 1 && !one ? forms[1]! : forms[0]!;
  return form.replace(/\{(\w+)\}/g, (whole, name: string) => (name in fill ? String(fill[name]) : whole));
}
