// How the items of a session are arranged in the conversation.

import type { Call, Item, Note, Said } from "./events";

/** Calls in a row, as lines on a thread. Notes about child sessions stand among them. */
export interface Calls {
  kind: "calls";
  key: string;
  items: (Call | Note)[];
}

/** All that was done for an answer that is there: one line, until it is opened. */
export interface Fold {
  kind: "fold";
  key: string;
  calls: Call[];
  blocks: Block[];
  seconds: number;
}

export interface One {
  kind: "one";
  key: string;
  item: Said | Note;
}

export type Block = Calls | Fold | One;

const inRow = (i: Item) => i.kind === "call" || (i.kind === "note" && !!i.child);

/** Groups items: calls in a row become one block. */
function rows(items: Item[]): Block[] {
  const out: Block[] = [];
  for (const i of items) {
    const last = out.at(-1);
    if (!inRow(i)) out.push({ kind: "one", key: i.kind + i.seq, item: i as Said | Note });
    else if (last?.kind === "calls") last.items.push(i as Call | Note);
    else out.push({ kind: "calls", key: "calls" + i.seq, items: [i as Call | Note] });
  }
  return out;
}

/** Folds what was done before the answer, if there are at least two calls. The message of the person and the answer stay. */
function fold(all: Item[]): Block[] {
  // What the person did after the answer, such as going back to it, does not unfold it.
  let end = all.length;
  for (let last = all[end - 1]; last?.kind === "note" && last.back; last = all[end - 1]) end--;
  const part = all.slice(0, end);
  const answer = part.at(-1);
  const calls = part.filter((i): i is Call => i.kind === "call");
  if (answer?.kind !== "agent" || !answer.text || calls.length < 2) return rows(all);
  const before = part.slice(part[0]?.kind === "user" ? 1 : 0, -1);
  const from = Date.parse(part[0]!.kind === "call" ? part[0]!.began : part[0]!.time);
  const seconds = (Date.parse(answer.time) - from) / 1000;
  const folded: Fold = { kind: "fold", key: "fold" + before[0]!.seq, calls, blocks: rows(before), seconds };
  return [...rows(part.slice(0, part.length - before.length - 1)), folded, ...rows(all.slice(end - 1))];
}

const unchanged = (a: Block, b: Block): boolean => {
  if (a.kind === "one" && b.kind === "one") return a.item === b.item;
  if (a.kind === "calls" && b.kind === "calls") return a.items.length === b.items.length && a.items.every((x, i) => x === b.items[i]);
  return a.kind === "fold" && b.kind === "fold" && a.calls.length === b.calls.length && a.calls.every((x, i) => x === b.calls[i]) && a.seconds === b.seconds;
};

const stay = (old: Block | undefined, b: Block): Block => (old && unchanged(old, b) ? old : b);

/**
 * Arranges items. A part begins with a message of the person; the last one is
 * folded only if it is over. Blocks that did not change since before are the
 * same objects, so that nothing of them is drawn anew.
 */
export function blocks(items: Item[], over: boolean, before: Block[] = []): Block[] {
  const out: Block[] = [];
  let start = 0;
  for (let i = 1; i <= items.length; i++) {
    if (i < items.length && items[i]!.kind !== "user") continue;
    const part = items.slice(start, i);
    for (const b of i < items.length || over ? fold(part) : rows(part)) out.push(b);
    start = i;
  }
  const old = new Map(before.map((b) => [b.key, b]));
  return out.map((b) => stay(old.get(b.key), b));
}

/** The blocks of a list of items that grows. What was arranged before the first item that changed is not looked at again. */
export class Arranged {
  #items: readonly Item[] = [];
  #blocks: Block[] = [];
  #rows = false; // the last part is not folded

  of(items: Item[], over: boolean): Block[] {
    let same = 0;
    while (same < items.length && items[same] === this.#items[same]) same++;
    const begins = (all: readonly Item[]) => all.slice(same).some((i) => i.kind === "user");
    const grows = this.#rows && !over && same > 0 && !begins(items) && !begins(this.#items);
    this.#blocks = grows ? this.#grown(items, same) : blocks(items, over, this.#blocks);
    this.#items = items;
    this.#rows = !over;
    return this.#blocks;
  }

  // All that changed is in the last part, which is not folded.
  #grown(items: Item[], same: number): Block[] {
    if (same === items.length && same === this.#items.length) return this.#blocks;
    // The blocks at the end that have an item that changed, and the one before, which may go on.
    let from = this.#items.length;
    let kept = this.#blocks.length;
    while (kept > 0 && from >= same) from -= size(this.#blocks[--kept]!);
    const old = new Map(this.#blocks.slice(kept).map((b) => [b.key, b]));
    const more = rows(items.slice(from)).map((b) => stay(old.get(b.key), b));
    return [...this.#blocks.slice(0, kept), ...more];
  }
}

/** How many items a block has. */
const size = (b: Block): number => (b.kind === "one" ? 1 : b.kind === "calls" ? b.items.length : b.blocks.reduce((n, x) => n + size(x), 0));
