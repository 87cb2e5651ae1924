// What a program prints, as a terminal shows it in the end: colours, carriage returns, moved cursors.

import type { Terminal } from "@xterm/headless";

/** A piece of a line in one look. Colours are classes of the page, or #rrggbb. */
export interface Piece {
  text: string;
  look: string; // classes
  ink?: string; // #rrggbb
  back?: string;
}
export type Line = Piece[];

const columns = 160; // longer lines are wrapped by the page
const rows = 40;
const kept = 3000; // lines

/** Whether a text needs a terminal. Without control characters it is lines. */
export const controls = (text: string) => /[\x00-\x08\x0b-\x1f\x7f\x9b]/.test(text);

/** Lines of a text without control characters. */
export function plainLines(text: string): Line[] {
  const all = text.replace(/\n$/, "").split("\n");
  return all.slice(-kept).map((text) => [{ text, look: "" }]);
}

/** An emulator that takes text piece by piece. */
export class Emulation {
  #term: Terminal;
  #written = "";
  #lines: Line[] = [];
  #starts: number[] = []; // the row at which each line starts
  #still = 0; // rows above it do not change any more

  constructor(make: typeof Terminal) {
    this.#term = new make({ cols: columns, rows, scrollback: kept, convertEol: true, allowProposedApi: true, logLevel: "off" });
  }

  /** Shows a text, which in most cases continues the one before. */
  async show(text: string): Promise<Line[]> {
    if (!text.startsWith(this.#written)) {
      this.#term.reset();
      this.#written = "";
      this.#still = 0;
    }
    const more = text.slice(this.#written.length);
    this.#written = text;
    await new Promise<void>((done) => this.#term.write(more, done));
    return this.#read();
  }

  #read(): Line[] {
    const buffer = this.#term.buffer.active;
    const full = buffer.length >= rows + kept; // lines go at the top: nothing stays where it was
    let from = full ? 0 : this.#still;
    while (from > 0 && buffer.getLine(from)?.isWrapped) from--;
    this.#lines = full ? [] : this.#lines.slice(0, this.#starts.filter((y) => y < from).length);
    this.#starts.length = this.#lines.length;
    const cell = buffer.getNullCell();
    for (let y = from; y < buffer.length; y++) {
      const row = buffer.getLine(y)!;
      const goesOn = row.isWrapped && this.#lines.length > 0;
      if (!goesOn) {
        this.#starts.push(y);
        this.#lines.push([]);
      }
      readRow(row, cell, this.#lines.at(-1)!);
    }
    this.#still = buffer.baseY; // what is above the screen does not change any more
    const lines = this.#lines.map((line, i) => (this.#starts[i]! >= this.#still ? trimmed(line) : line));
    while (lines.length && !lines.at(-1)!.length) lines.pop();
    return lines;
  }

  close(): void {
    this.#term.dispose();
  }
}

/** Adds what a row shows to a line. */
function readRow(row: BufferLine, cell: Cell, line: Line): void {
  const width = row.translateToString(true).length ? columns : 0;
  let blanks = 0; // without a colour, which count only if something follows
  for (let x = 0; x < width; x++) {
    row.getCell(x, cell);
    if (cell.getWidth() === 0) continue; // the second half of a wide character
    const text = cell.getChars();
    const look = lookOf(cell);
    if (!text && !look.back && !look.look) {
      blanks++;
      continue;
    }
    if (blanks) add(line, " ".repeat(blanks), { look: "" });
    blanks = 0;
    add(line, text || " ", look);
  }
}

function add(line: Line, text: string, look: Omit<Piece, "text">): void {
  const last = line.at(-1);
  if (last && last.look === look.look && last.ink === look.ink && last.back === look.back) last.text += text;
  else line.push({ text, ...look });
}

/** A line without the blanks at its end. */
function trimmed(line: Line): Line {
  const kept = [...line];
  for (let last = kept.at(-1); last && !last.back && !last.look.includes("bg-"); last = kept.at(-1)) {
    const text = last.text.trimEnd();
    kept.pop();
    if (!text) continue;
    kept.push({ ...last, text });
    break;
  }
  return kept;
}

type Cell = ReturnType<Terminal["buffer"]["active"]["getNullCell"]>;
type BufferLine = NonNullable<ReturnType<Terminal["buffer"]["active"]["getLine"]>>;

function lookOf(cell: Cell): Omit<Piece, "text"> {
  const look: string[] = [];
  let ink = colour(cell.getFgColor(), cell.isFgPalette(), cell.isFgRGB());
  let back = colour(cell.getBgColor(), cell.isBgPalette(), cell.isBgRGB());
  if (cell.isInverse()) [ink, back] = [back || "ground", ink || "paper"];
  if (cell.isBold()) look.push("bold");
  if (cell.isDim()) look.push("faint");
  if (cell.isItalic()) look.push("slant");
  if (cell.isUnderline()) look.push("under");
  if (cell.isStrikethrough()) look.push("struck");
  if (cell.isInvisible()) look.push("unseen");
  if (ink && !ink.startsWith("#")) look.push("ink-" + ink);
  if (back && !back.startsWith("#")) look.push("bg-" + back);
  return { look: look.join(" "), ...(ink.startsWith("#") && { ink }), ...(back.startsWith("#") && { back }) };
}

/** A colour: the number of one of sixteen, #rrggbb, or "" for the usual one. */
function colour(n: number, palette: boolean, rgb: boolean): string {
  if (rgb) return hex(n);
  if (!palette) return "";
  if (n < 16) return String(n);
  if (n >= 232) return hex((8 + (n - 232) * 10) * 0x010101);
  const part = (k: number) => (k ? 55 + k * 40 : 0);
  const i = n - 16;
  return hex((part(Math.floor(i / 36)) << 16) | (part(Math.floor(i / 6) % 6) << 8) | part(i % 6));
}

const hex = (n: number) => "#" + n.toString(16).padStart(6, "0");
