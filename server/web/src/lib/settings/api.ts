// Requests about what is configured. They are for administrators of the server.

import { Refused } from "../api";

export interface ModelSetting {
  name: string;
  model?: string;
  default?: boolean;
  source: string;
  address?: string;
  key: "set" | "missing" | "not needed";
  key_from?: string;
  error?: string;
}

export interface ProviderSetting {
  name: string;
  suggested?: string;
  needs_key: boolean;
  key_from?: string;
  default?: boolean;
}

export interface ServerSetting {
  name: string;
  shown: string;
  hash: string;
  source: string;
  found: boolean;
  approved: boolean;
  disabled?: boolean;
}

export interface DecisionSetting {
  id: string;
  allow: boolean;
  tool?: string;
  what: string;
  workspace?: string;
  by: string;
  at: string;
}

export interface Settings {
  file: string;
  models: ModelSetting[];
  providers: ProviderSetting[];
  servers: ServerSetting[];
  decisions: DecisionSetting[];
  storage: { directory: string; bytes: number };
}

export interface Checked {
  ok: boolean;
  model?: string;
  whole_ms: number;
  error?: string;
}

export interface Used {
  name: string;
  requests: number;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  cost_usd: number | null;
}

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const headers: Record<string, string> = { "OpenManus-Page": "1", ...(body !== undefined && { "Content-Type": "application/json" }) };
  const resp = await fetch("api/v1" + path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  const text = await resp.text();
  if (!resp.ok) throw new Refused(resp.status, problem(text) || resp.statusText);
  return (text ? JSON.parse(text) : undefined) as T;
}

function problem(text: string): string {
  try {
    const p = JSON.parse(text);
    return String(p.errors?.[0]?.message ?? p.detail);
  } catch {
    return text.slice(0, 300);
  }
}

export const settingsAPI = {
  read: () => call<Settings>("GET", "/settings"),
  sandbox: () => call<{ text: string }>("GET", "/settings/sandbox").then((r) => r.text),
  check: (name: string) => call<Checked>("POST", "/settings/models/check", { name }),
  setUp: (m: { provider: string; base_url?: string; key?: string; model: string }) => call<void>("POST", "/settings/models", m),
  tools: (name: string) => call<{ items: { name: string; description: string }[] }>("POST", "/settings/servers/test", { name }).then((r) => r.items),
  approve: (name: string, hash: string) => call<void>("POST", "/settings/servers/approve", { name, hash }),
  forget: (id: string) => call<void>("DELETE", "/settings/decisions/" + encodeURIComponent(id)),
  used: (by: string, since: string) => call<{ groups?: Used[] } & Used>("GET", `/usage?by=${by}&since=${since}`),
};
