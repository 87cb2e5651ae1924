// Tables as text: comma, semicolon or tab between the fields, quotes around those that have any of these.

export interface Table {
  head: string[];
  rows: string[][];
  more: boolean; // there are more rows than were read
}

/** The character between fields: the one that most often divides the first lines into equally many. */
export function separatorOf(text: string): string {
  const lines = text.slice(0, 20_000).split(/\r?\n/).filter(Boolean).slice(0, 20);
  let best = ",";
  let most = 0;
  for (const sep of [",", "\t", ";", "|"]) {
    const counts = lines.map((l) => l.replace(/"(?:[^"]|"")*"/g, "").split(sep).length - 1);
    const usual = counts[0] ?? 0;
    const score = usual * (counts.filter((n) => n === usual).length / Math.max(1, counts.length));
    if (score > most) [best, most] = [sep, score];
  }
  return best;
}

export function tableOf(text: string, most: number): Table {
  const sep = separatorOf(text);
  const rows: string[][] = [];
  let row: string[] = [];
  let field = "";
  let quoted = false;
  let i = text.startsWith("\ufeff") ? 1 : 0;
  const end = () => {
    row.push(field);
    field = "";
  };
  const line = () => {
    end();
    if (row.length > 1 || row[0]) rows.push(row);
    row = [];
  };
  for (; i < text.length && rows.length <= most; i++) {
    const c = text[i]!;
    if (quoted) {
      if (c !== '"') field += c;
      else if (text[i + 1] === '"') (field += '"'), i++;
      else quoted = false;
    } else if (c === '"' && !field) quoted = true;
    else if (c === sep) end();
    else if (c === "\n") line();
    else if (c !== "\r" || text[i + 1] !== "\n") field += c;
  }
  if (field || row.length) line();
  const more = rows.length > most + 1 || i < text.length;
  return { head: rows[0] ?? [], rows: rows.slice(1, most + 1), more };
}

/** Whether a column has numbers, which stand at the right. */
export function numeric(rows: string[][], column: number): boolean {
  const some = rows.slice(0, 50).map((r) => r[column] ?? "").filter(Boolean);
  return some.length > 0 && some.every((v) => /^[-+]?[\d.,\u00a0' ]*\d\s*%?$/.test(v) && !/^\d{4}-\d{2}/.test(v));
}

/** Rows between bars, as the server writes sheets, as a table of Markdown: the line below the first row is what makes it one. */
export function withHeads(text: string): string {
  const bars = (line: string | undefined) => !!line && /^\|.*\|\s*$/.test(line);
  const out: string[] = [];
  const lines = text.split("\n");
  for (const [i, line] of lines.entries()) {
    out.push(line);
    if (!bars(line) || bars(lines[i - 1]) || /^\|[\s:|-]+\|\s*$/.test(lines[i + 1] ?? "")) continue;
    const cells = line.replace(/\\./g, "").split("|").length - 2;
    out.push("|" + " --- |".repeat(Math.max(1, cells)));
  }
  return out.join("\n");
}
