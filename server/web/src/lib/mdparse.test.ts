import { expect, test } from "vitest";
import { html, pathOf } from "./mdparse";

test("links to files, and links elsewhere", () => {
  const want: [string, string][] = [
    ["report.md", "report.md"], ["./out/a%20b.csv", "out/a b.csv"], ["/a.md#part", "a.md"], ["https://example.org/a", ""], ["javascript:x", ""], ["//example.org", ""],
    ["#part", ""], ["mailto:a@example.org", ""], ["?q", ""], ["%E0%A4%A", "%E0%A4%A"],
  ];
  for (const [href, path] of want) expect(pathOf(href), href).toBe(path);
  expect(html("[the report](out/a%20b.md)")).toContain('href="#file:out%2Fa%20b.md"');
  expect(html("![chart](chart.png)")).toContain('<a href="#file:chart.png">chart</a>');
});

test("formulas keep their backslashes; money is no formula", () => {
  expect(html("so $a_1 + b_2$ is")).toContain('<code class="math-inline">a_1 + b_2</code>');
  expect(html("\\(x\\_y\\) and \\[z\\]")).toMatch(/math-inline">x\\_y<[^]*math-block">z</);
  expect(html("$$\na < b\n$$")).toContain('<p><code class="math-block">a &#60; b</code></p>');
  expect(html("It costs $5 and then $6.")).not.toContain("math");
  expect(html("`$x$`")).not.toContain("math");
});
