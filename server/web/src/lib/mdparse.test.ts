import { expect, test } from "vitest";
import { Growing, html, marked, pathOf } from "./mdparse";
import { prose } from "./visible";

test("links to files, and links elsewhere", () => {
  const want: [string, string][] = [
    ["report.md", "report.md"], ["./out/a%20b.csv", "out/a b.csv"], ["/a.md#part", "a.md"], ["https://example.org/a", ""], ["javascript:x", ""], ["//example.org", ""],
    ["#part", ""], ["mailto:a@example.org", ""], ["?q", ""], ["%E0%A4%A", "%E0%A4%A"],
  ];
  for (const [href, path] of want) expect(pathOf(href), href).toBe(path);
  expect(html("[the report](out/a%20b.md)")).toContain('href="#file:out%2Fa%20b.md"');
  expect(html("![chart](chart.png)")).toContain('<img src="#file:chart.png" alt="chart">');
});

test("formulas keep their backslashes; money is no formula", () => {
  expect(html("so $a_1 + b_2$ is")).toContain('<code class="math-inline">a_1 + b_2</code>');
  expect(html("\\(x\\_y\\) and \\[z\\]")).toMatch(/math-inline">x\\_y<[^]*math-block">z</);
  expect(html("$$\na < b\n$$")).toContain('<p><code class="math-block">a &#60; b</code></p>');
  expect(html("It costs $5 and then $6.")).not.toContain("math");
  expect(html("`$x$`")).not.toContain("math");
});

const texts = [
  "# Head\n\nA paragraph with *words*.\n\n- one\n- two\n\n  goes on\n\n- three\n\n1. a\n2. b\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nlet x = 1;\n\nlet y;\n```\n\nThe end\n===\n",
  "A sum:\n\n$$\na\n\nb\n$$\n\nand \\[\nc\n\nd\n\\]\n\nso $e_1$ is.\n\n> quoted\nlazily\n\n<div>\n\n*x*\n\n</div>\n\n<!-- a\n\nb -->\n\nend",
  "See [one] and [two].\n\nThen more.\n\nAnd more.\n\n[one]: https://example.org/1\n\nMuch later.\n\n[two]: https://example.org/2\n\nThe end.",
  "\n\n  lead\n\n\n\ttabbed\n\n    code\n\n    more code\n\ntext\r\nwith\u202e tricks \u{1f600}\u200d\u{1f600}\n***\nend  \nbroken\n",
];

test("a text that grows is read as the whole text", () => {
  for (const text of texts) {
    for (const piece of [1, 3, 30]) {
      const growing = new Growing();
      for (let n = piece; n < text.length + piece; n += piece) {
        const now = text.slice(0, n);
        expect(growing.read(now).map((t) => t.raw), now).toEqual(marked.lexer(prose(now)).map((t) => t.raw));
      }
      expect(marked.parser(growing.read(text))).toBe(marked.parser(marked.lexer(prose(text))));
    }
  }
  const growing = new Growing();
  growing.read("one\n\ntwo");
  expect(marked.parser(growing.read("another"))).toBe("<p>another</p>\n");
}, 60_000);

test("of a long text that grows, the beginning is not read again", () => {
  const growing = new Growing();
  const first = growing.read("one *word*\n\n- two\n\nthree")[0];
  expect(growing.read("one *word*\n\n- two\n\nthree and four")[0]).toBe(first);
});

test("what would run is taken out of HTML before the browser reads it", () => {
  expect(html("<img src=x onerror=\"pwned=1\" OnLoad = 'x'> and `<b onclick=x>`")).not.toMatch(/<img[^>]*\son/i);
  expect(html("<svg\nonload=x><p onclick=y>once on=1</p>")).toContain("<svg data-was=x><p data-was=y>once on=1");
  expect(html("`<b onclick=x>`")).toContain("&lt;b onclick=x&gt;");
});
