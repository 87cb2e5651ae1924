// What people type in one field and programs want in many.

/** The words of a command, with '…', "…" and \ as in a shell. Nothing is expanded. */
export function wordsOf(command: string): string[] {
  const words: string[] = [];
  let word: string | null = null; // null: between words
  let quote = "";
  for (let i = 0; i < command.length; i++) {
    const c = command[i]!;
    if (quote && c === quote) quote = "";
    else if (c === "\\" && quote !== "'" && i + 1 < command.length) word = (word ?? "") + command[++i]!;
    else if (quote) word = (word ?? "") + c;
    else if (c === "'" || c === '"') [quote, word] = [c, word ?? ""];
    else if (/\s/.test(c)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? "") + c;
  }
  if (word !== null) words.push(word);
  return words;
}

/** Lines NAME=VALUE. Others are an error. */
export function pairsOf(text: string): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const line of text.split("\n").map((l) => l.trim()).filter(Boolean)) {
    const cut = line.indexOf("=");
    if (cut < 1) throw new Error(`${line}: NAME=VALUE`);
    pairs[line.slice(0, cut).trim()] = line.slice(cut + 1).trim();
  }
  return pairs;
}
