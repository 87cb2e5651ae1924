import { expect, test } from "vitest";
import { languages } from "./i18n.svelte";
import { words as english, type Word } from "./words/en";

const components = import.meta.glob<string>("../**/*.svelte", { eager: true, query: "?raw", import: "default" });
const scripts = import.meta.glob<string>(["../**/*.ts", "!../**/*.test.ts", "!./words/*"], { eager: true, query: "?raw", import: "default" });
const keys = Object.keys(english) as Word[];

/** What a text needs to be filled in. */
const blanks = (s: string) => [...new Set(s.match(/\{\w+\}/g))].sort().join();

test("every language has the same words, with the same blanks", () => {
  for (const [tag, { words }] of Object.entries(languages)) {
    expect(Object.keys(words).sort(), tag).toEqual([...keys].sort());
    for (const k of keys) expect(blanks(words[k]), `${tag}: ${k}`).toBe(blanks(english[k]));
    for (const k of keys) expect(words[k].trim(), `${tag}: ${k}`).not.toBe("");
  }
});

// Names, and keys of the keyboard, are the same everywhere.
const names = new Set(["OpenManus", "N", "A", "D", "E", "F", "Esc", "Enter", "JSON", "PDF", "CSV", "zip"]);

/** Leaves the markup of a component without scripts, comments, expressions and attributes: what is left is text. */
function texts(source: string): string[] {
  let s = source.replace(/<script[\s\S]*?<\/script>|<style[\s\S]*?<\/style>|<!--[\s\S]*?-->/g, "");
  for (let before = ""; before !== s; ) s = (before = s).replace(/\{[^{}]*\}/g, " ");
  return s.replace(/<[^>]*>/g, "\n").split("\n").map((t) => t.trim()).filter((t) => /\p{L}/u.test(t) && !names.has(t));
}

/** Attributes that people read or hear, with a text in place of an expression. */
function spoken(source: string): string[] {
  const markup = source.replace(/<script[\s\S]*?<\/script>/g, "");
  return [...markup.matchAll(/\s(?:aria-label|title|placeholder|alt)="([^"{]*\p{L}[^"{]*)"/gu)].map((m) => m[1]!).filter((t) => !names.has(t));
}

test("no text stands outside of the catalogue", () => {
  expect(texts('<p title="{x}">{t("a")} Hello</p>')).toEqual(["Hello"]); // it can be found
  expect(spoken('<b aria-label="Close">x</b>')).toEqual(["Close"]);
  for (const [file, source] of Object.entries(components)) expect([...texts(source), ...spoken(source)], file).toEqual([]);
});

test("every word is used", () => {
  const all = [...Object.values(components), ...Object.values(scripts)].join("\n");
  const made = [...all.matchAll(/`(\w+_)\$\{/g)].map((m) => m[1]!); // such as `status_${…}`
  const unused = keys.filter((k) => !all.includes(`"${k}"`) && !made.some((p) => k.startsWith(p)));
  expect(unused).toEqual([]);
});
