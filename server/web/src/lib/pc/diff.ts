// A unified diff as rows with numbers, and the words that changed within a line.

export interface Row {
  kind: "plus" | "minus" | "same" | "hunk" | "head";
  old?: number;
  new?: number;
  text: string;
  changed?: [number, number]; // of text: from, to
}

export function rowsOf(diff: string): Row[] {
  const rows: Row[] = [];
  let before = 0;
  let after = 0;
  let inHunk = false;
  for (const line of diff.replace(/\n$/, "").split("\n")) {
    const at = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)$/.exec(line);
    if (at) {
      before = Number(at[1]);
      after = Number(at[2]);
      inHunk = true;
      rows.push({ kind: "hunk", text: at[3] ?? "" });
    } else if (!inHunk) {
      if (!/^(---|\+\+\+|diff |index )/.test(line)) rows.push({ kind: "head", text: line });
    } else if (line.startsWith("+")) rows.push({ kind: "plus", new: after++, text: line.slice(1) });
    else if (line.startsWith("-")) rows.push({ kind: "minus", old: before++, text: line.slice(1) });
    else if (line.startsWith("\\")) rows.push({ kind: "head", text: line.slice(2) });
    else if (/^(diff --git |--- )/.test(line)) inHunk = false;
    else rows.push({ kind: "same", old: before++, new: after++, text: line.slice(1) });
  }
  return mark(rows);
}

/** Marks what changed in lines that stand for each other: as many added as removed, side by side. */
function mark(rows: Row[]): Row[] {
  for (let i = 0; i < rows.length; ) {
    let minus = i;
    while (rows[minus]?.kind === "minus") minus++;
    let plus = minus;
    while (rows[plus]?.kind === "plus") plus++;
    if (minus - i === plus - minus) for (let k = 0; k < minus - i; k++) pair(rows[i + k]!, rows[minus + k]!);
    i = Math.max(plus, i + 1);
  }
  return rows;
}

function pair(a: Row, b: Row): void {
  const most = Math.min(a.text.length, b.text.length);
  let from = 0;
  while (from < most && a.text[from] === b.text[from]) from++;
  let end = 0;
  while (end < most - from && a.text.at(-1 - end) === b.text.at(-1 - end)) end++;
  if (from + end < Math.max(a.text.length, b.text.length) * 0.3) return; // nothing in common: another line
  const word = (s: string, i: number) => /[\p{L}\p{N}_]/u.test(s[i] ?? "");
  while (from > 0 && word(a.text, from - 1) && (word(a.text, from) || word(b.text, from))) from--;
  while (end > 0 && word(a.text, a.text.length - end) && (word(a.text, a.text.length - end - 1) || word(b.text, b.text.length - end - 1))) end--;
  if (a.text.length - end > from) a.changed = [from, a.text.length - end];
  if (b.text.length - end > from) b.changed = [from, b.text.length - end];
}
