// Plays the log of a test on xterm.js, which the page embeds, and compares its screens.
import { readFileSync } from "node:fs";
import { Terminal } from "../../../server/web/dist/xterm-headless.js";

const terminal = new Terminal({ cols: 80, rows: 24, allowProposedApi: true });

// How many columns a character takes: as xterm.js has it of itself (Unicode 6), save for what
// has become a picture since then, by the tables of JavaScript.
const old = terminal._core.unicodeService._activeProvider;
const wcwidth = (c) => {
  const char = String.fromCodePoint(c);
  if (/\p{Emoji_Presentation}/u.test(char) && !/\p{Regional_Indicator}/u.test(char)) return 2;
  return c > 0xff && /[\p{Mn}\p{Me}\p{Cf}]/u.test(char) ? 0 : old.wcwidth(c);
};
terminal.unicode.register({
  version: "now",
  wcwidth,
  charProperties(c, before) {
    const width = wcwidth(c);
    const widthBefore = (before >> 1) & 3;
    const joins = width === 0 && before !== 0 && widthBefore !== 0;
    return ((joins ? Math.max(width, widthBefore) : width) << 1) | (joins ? 1 : 0);
  },
});
terminal.unicode.activeVersion = "now";

let compared = 0;
for (const { Written, Size, Screen, Cursor } of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  if (Size) {
    terminal.resize(...Size);
  } else if (Written) {
    await new Promise((done) => terminal.write(Written, done));
  } else if (Screen) {
    compared++;
    const buffer = terminal.buffer.active;
    const line = (y) => buffer.getLine(buffer.baseY + y).translateToString(true).trimEnd();
    const lines = Array.from({ length: terminal.rows }, (_, y) => line(y));
    if (lines.join("\n") !== Screen.join("\n")) {
      console.log(`screen ${compared} is\n${lines.join("\n")}\nwant\n${Screen.join("\n")}`);
      process.exit(1);
    }
    if (Cursor && (buffer.cursorX !== Cursor[0] || buffer.cursorY !== Cursor[1])) {
      console.log(`screen ${compared}: the cursor is at ${buffer.cursorX},${buffer.cursorY}, want ${Cursor}\n${lines.join("\n")}`);
      process.exit(1);
    }
  }
}
if (compared < 10) {
  console.log(`only ${compared} screens were compared`);
  process.exit(1);
}
