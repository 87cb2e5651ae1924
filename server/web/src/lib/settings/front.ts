// The file of an agent: front matter, and instructions below it. Fields are changed line by line, so that comments and everything else stay.

interface Parts {
  head: string[]; // lines of the front matter
  body: string;
}

function partsOf(text: string): Parts {
  const plain = text.replace(/^\uFEFF/, "").replace(/\r\n/g, "\n");
  const found = /^---\n(?:([\s\S]*?)\n)?---(?:\n|$)/.exec(plain);
  return found ? { head: found[1]?.split("\n") ?? [], body: plain.slice(found[0].length) } : { head: [], body: plain };
}

const joined = (p: Parts) => (p.head.length ? "---\n" + p.head.join("\n") + "\n---\n" : "") + p.body;

/** The lines of a field: where it begins, and the first line after it. */
function linesOf(head: string[], key: string): [from: number, to: number] | null {
  const from = head.findIndex((l) => l.startsWith(key) && /^\s*:/.test(l.slice(key.length)));
  if (from < 0) return null;
  let to = from + 1;
  while (to < head.length && /^(\s+\S|- )/.test(head[to]!)) to++;
  return [from, to];
}

/** A value and the comment after it. A # begins a comment after a space, outside of quotes. */
function cutComment(line: string): [value: string, comment: string] {
  let quote = "";
  for (let i = 0; i < line.length; i++) {
    const c = line[i]!;
    if (quote) quote = c === quote ? "" : quote;
    else if (c === '"' || c === "'") quote = c;
    else if (c === "#" && (i === 0 || /\s/.test(line[i - 1]!))) return [line.slice(0, i).trim(), line.slice(i)];
  }
  return [line.trim(), ""];
}

function unquoted(value: string): string {
  if (/^'.*'$/.test(value)) return value.slice(1, -1).replaceAll("''", "'");
  if (!/^".*"$/.test(value)) return value;
  try {
    return String(JSON.parse(value));
  } catch {
    return value.slice(1, -1);
  }
}

/** The value of a field; "" if it is not there. */
export function fieldOf(text: string, key: string): string {
  const { head } = partsOf(text);
  const at = linesOf(head, key);
  return at ? unquoted(cutComment(head[at[0]]!.slice(head[at[0]]!.indexOf(":") + 1))[0]) : "";
}

/** The words of a field that is a list, however it is written. */
export function listOf(text: string, key: string): string[] {
  const { head } = partsOf(text);
  const at = linesOf(head, key);
  if (!at) return [];
  const below = head.slice(at[0] + 1, at[1]).map((l) => cutComment(l.trim().replace(/^- */, ""))[0]);
  const words = [...fieldOf(text, key).replace(/[[\]]/g, "").split(/[,\s]+/), ...below];
  return words.map((w) => unquoted(w.trim())).filter((w) => w && w !== ">" && w !== "|");
}

const plain = (value: string) => /^[A-Za-z][\w./-]*( [\w./-]+)*$/.test(value) && !/^(true|false|null|yes|no|on|off)$/i.test(value);
const quoted = (value: string) => (plain(value) || /^\d+(\.\d+)?[smh]?$/.test(value) ? value : JSON.stringify(value));
const written = (value: string | string[]) => (Array.isArray(value) ? `[${value.map(quoted).join(", ")}]` : quoted(value));

/** The text with a field that has the value, or without it if that is empty. Its comment stays. */
export function withField(text: string, key: string, value: string | string[]): string {
  const p = partsOf(text);
  const at = linesOf(p.head, key);
  if (!value.length) {
    if (at) p.head.splice(at[0], at[1] - at[0]);
    return joined(p);
  }
  const comment = at ? cutComment(p.head[at[0]]!.slice(p.head[at[0]]!.indexOf(":") + 1))[1] : "";
  const line = `${key}: ${written(value)}${comment && " " + comment}`;
  if (at) p.head.splice(at[0], at[1] - at[0], line);
  else p.head.push(line);
  return joined(p);
}

/** What is below the front matter. */
export const bodyOf = (text: string) => partsOf(text).body.replace(/^\n+/, "");

export function withBody(text: string, body: string): string {
  const p = partsOf(text);
  return joined({ ...p, body: (p.head.length ? "\n" : "") + body });
}
