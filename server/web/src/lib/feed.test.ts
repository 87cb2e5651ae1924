import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Feed, type News, type Source } from "./feed";

class Fake implements Source {
  on: Record<string, (ev: { data?: string }) => void> = {};
  closed = false;
  constructor(readonly url: string) {}
  addEventListener(type: string, f: (ev: { data?: string }) => void): void {
    this.on[type] = f;
  }
  close(): void {
    this.closed = true;
  }
  send(type: string, data: unknown = {}): void {
    this.on[type]!({ data: JSON.stringify(data) });
  }
}

let opened: Fake[];
let news: News[];
let feed: Feed;
const now = () => opened.at(-1)!;
const event = (session: string, seq: number) => ({ session, event: { seq, time: "", type: "noted", body: {} } });
const seqs = () => news.flatMap((n) => (n.kind === "event" ? [n.session + n.event.seq] : []));

beforeEach(() => {
  vi.useFakeTimers();
  opened = [];
  news = [];
  feed = new Feed((url) => (opened.push(new Fake(url)), now()), (n) => news.push(n));
});
afterEach(() => {
  feed.close();
  vi.useRealTimers();
});

test("several sessions are one stream", () => {
  feed.join("a", 3);
  feed.join("b/ü", 0);
  vi.advanceTimersByTime(20);
  expect(opened.map((o) => o.url)).toEqual(["api/v1/events?session=3%3Aa&session=0%3Ab%2F%C3%BC"]);
  now().send("event", event("a", 4));
  now().send("event", event("b/ü", 1));
  expect(seqs()).toEqual(["a4", "b/ü1"]);
});

test("after a loss it goes on where it was, and nothing comes twice", () => {
  feed.join("a", 3);
  vi.advanceTimersByTime(20);
  now().send("open");
  now().send("event", event("a", 4));
  now().send("error");
  expect(now().closed).toBe(true);
  expect(news.at(-1)).toEqual({ kind: "lost", retry: 1000 });
  vi.advanceTimersByTime(1000);
  expect(now().url).toBe("api/v1/events?session=4%3Aa");
  now().send("event", event("a", 4));
  now().send("event", event("a", 5));
  expect(seqs()).toEqual(["a4", "a5"]);
});

test("a connection that falls silent is given up within ten seconds", () => {
  feed.join("a", 0);
  vi.advanceTimersByTime(20);
  for (let i = 0; i < 5; i++) {
    vi.advanceTimersByTime(4000);
    now().send("beat");
  }
  expect(opened.length).toBe(1);
  vi.advanceTimersByTime(10_000);
  expect(news.at(-1)).toEqual({ kind: "lost", retry: 1000 });
  expect(opened[0]!.closed).toBe(true);
  vi.advanceTimersByTime(1000);
  expect(opened.length).toBe(2);
});

test("it asks again at once when the machine wakes up, and not when all is well", () => {
  feed.join("a", 0);
  vi.advanceTimersByTime(20);
  now().send("beat");
  feed.wake();
  vi.advanceTimersByTime(1);
  expect(opened.length).toBe(1);
  vi.setSystemTime(Date.now() + 60_000);
  feed.wake();
  vi.advanceTimersByTime(1);
  expect(opened.length).toBe(2);
});

test("who joins later gets what came before; what nobody follows is not asked for", () => {
  feed.join("a", 0);
  vi.advanceTimersByTime(20);
  now().send("event", event("a", 1));
  feed.join("a", 0);
  vi.advanceTimersByTime(20);
  expect(now().url).toBe("api/v1/events?session=0%3Aa");
  feed.leave("a");
  feed.leave("a");
  expect(feed.url).toBe("api/v1/events");
});

test("a session that is gone is told of and not asked for again", () => {
  feed.join("a", 0);
  vi.advanceTimersByTime(20);
  now().send("gone", { session: "a", detail: "no such session" });
  expect(news.at(-1)).toEqual({ kind: "gone", session: "a", detail: "no such session" });
  expect(feed.url).toBe("api/v1/events");
});
