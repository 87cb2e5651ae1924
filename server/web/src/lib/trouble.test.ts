import { expect, test } from "vitest";
import type { Session } from "./api";
import { more, trouble } from "./trouble";

const info = (limits: object, usage: object = {}): Session =>
  ({ id: "s", model: "openai/gpt", limits, usage: { input_tokens: 0, output_tokens: 0, cached_tokens: 0, cost_usd: null, ...usage }, steps: 7 }) as unknown as Session;
const head = (kind: string, failed: boolean, error = "", status = 0) => trouble({ kind, failed, status }, error, info({})).head;

test("failures of models are sentences", () => {
  expect(head("auth", true, "401 invalid_api_key")).toBe("trouble_key");
  expect(head("rate_limit", true)).toBe("trouble_busy");
  expect(head("rate_limit", true, "insufficient_quota")).toBe("trouble_funds");
  expect(head("network", true)).toBe("trouble_away");
  expect(head("protocol", true, "", 503)).toBe("trouble_away");
  expect(head("context", true)).toBe("trouble_long");
  expect(head("script", true)).toBe("trouble_model");
  expect(trouble({ kind: "auth", failed: true, status: 401 }, "", info({})).fill["provider"]).toBe("openai");
});

test("a limit that was reached can be raised beyond what was used", () => {
  const t = trouble({ kind: "tokens", failed: false, status: 0 }, "", info({ tokens: 8000 }, { input_tokens: 12_000, output_tokens: 922 }));
  expect(t.limit?.of).toBe("tokens");
  expect(t.limit!.now + t.limit!.more).toBeGreaterThan(12_922);
  expect(t.fill["n"]).toBe("8,000");
  expect(trouble({ kind: "money", failed: false, status: 0 }, "", info({ cost_usd: 2 }, { cost_usd: 2.01 })).fill["cost"]).toBe("$2.00");
  expect(trouble({ kind: "steps", failed: false, status: 0 }, "", info({ steps: 50 })).limit).toMatchObject({ of: "steps", now: 50, more: 30 });
});

test("what is added is a round number", () => {
  expect([more(2), more(50), more(12_922), more(0), more(0.5)]).toEqual([1, 30, 10_000, 1, 0.3]);
});
