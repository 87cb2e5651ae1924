// What commands print, as text.

const escapes = /\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>78cDEHM])/g;

/** Text as it stands on a terminal in the end: without colours, and without what a carriage return overwrote. */
export function plain(text: string): string {
  return text.replace(escapes, "").replace(/\r+\n/g, "\n").replace(/[^\n]*\r(?=[^\n])/g, "").replace(/\r/g, "");
}

/** The last lines of a text that may be long. */
export function lastLines(text: string, n: number): string {
  return plain(text.slice(-2000 * n)).trimEnd().split("\n").slice(-n).join("\n");
}
