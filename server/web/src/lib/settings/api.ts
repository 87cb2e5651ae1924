// Requests about what is configured. They are for administrators of the server.

import { call } from "../api";
import type { Schemas } from "../types";

export type Settings = Schemas["Settings"];
export type ModelSetting = Schemas["ModelSetting"];
export type Learned = Schemas["LearnedSetting"];
export type FoundEndpoint = Schemas["FoundEndpoint"];
export type ProviderSetting = Schemas["ProviderSetting"];
export type ServerSetting = Schemas["ServerSetting"];
export type ServerTested = Schemas["ServerTested"];
export type ServerTool = Schemas["ServerTool"];
export type NewServer = Schemas["NewServer"];
export type DecisionSetting = Schemas["DecisionSetting"];
export type AgentSetting = Schemas["AgentSetting"];
export type Webhook = Schemas["WebhookState"];
export type Schedule = Schemas["Schedule"];
export type ScheduledRun = Schemas["ScheduledRun"];
export type Pruned = Schemas["Pruned"];
export type Checked = Pick<Schemas["ModelChecked"], "ok" | "model" | "whole_ms" | "error">;
export type Used = Pick<Schemas["UsageOfIt"], "name" | "requests" | "input_tokens" | "output_tokens" | "cached_tokens" | "cost_usd">;

const named = encodeURIComponent;

export const settingsAPI = {
  read: () => call<Settings>("GET", "/settings"),
  sandbox: () => call<{ text: string }>("GET", "/settings/sandbox").then((r) => r.text),
  check: (name: string) => call<Checked>("POST", "/settings/models/check", { name }),
  setUp: (m: Schemas["NewModel"]) => call<void>("POST", "/settings/models", m),
  useModel: (name: string) => call<void>("POST", "/settings/models/default", { name }),
  tools: () => call<{ items: Schemas["ToolInfo"][] }>("GET", "/tools").then((r) => r.items),

  agents: () => call<{ items: AgentSetting[] }>("GET", "/settings/agents").then((r) => r.items),
  agent: (file: string) => call<Schemas["AgentText"]>("GET", "/settings/agents/" + named(file)),
  writeAgent: (file: string, t: Schemas["AgentText"]) => call<void>("PUT", "/settings/agents/" + named(file), t),
  removeAgent: (file: string, hash: string) => call<void>("DELETE", `/settings/agents/${named(file)}?hash=${hash}`),

  addServer: (s: NewServer) => call<void>("POST", "/settings/servers", s),
  changeServer: (name: string, c: Schemas["ServerChange"]) => call<void>("PATCH", "/settings/servers/" + named(name), c),
  removeServer: (name: string) => call<void>("DELETE", "/settings/servers/" + named(name)),
  testServer: (name: string) => call<ServerTested>("POST", "/settings/servers/test", { name }),
  approve: (name: string, hash: string, tools = "") => call<void>("POST", "/settings/servers/approve", { name, hash, ...(tools && { tools }) }),
  signIn: (name: string) => call<Schemas["SigningIn"]>("POST", "/settings/servers/sign-in", { name }),
  signedIn: (name: string) => call<Schemas["SigningIn"]>("GET", `/settings/servers/${named(name)}/sign-in`),

  schedules: () => call<{ items: Schedule[] | null }>("GET", "/schedules").then((r) => r.items ?? []),
  scheduleHistory: (name: string) => call<{ items: ScheduledRun[] | null }>("GET", `/schedules/${named(name)}/history`).then((r) => r.items ?? []),
  addSchedule: (s: Schemas["NewSchedule"]) => call<void>("POST", "/schedules", s),
  removeSchedule: (name: string) => call<void>("DELETE", "/schedules/" + named(name)),
  runSchedule: (name: string) => call<Schemas["ScheduleBegun"]>("POST", `/schedules/${named(name)}/run`),
  pauseSchedule: (name: string, paused: boolean) => call<void>("POST", `/schedules/${named(name)}/${paused ? "pause" : "resume"}`),

  webhooks: () => call<{ items: Webhook[] | null }>("GET", "/webhooks").then((r) => r.items ?? []),
  replay: (name: string) => call<{ sessions: number }>("POST", `/webhooks/${named(name)}/replay`),

  forget: (id: string) => call<void>("DELETE", "/settings/decisions/" + named(id)),
  prune: (dry: boolean) => call<Pruned>("POST", "/settings/prune", { dry_run: dry }),
  used: (by: string, since: string) => call<Schemas["UsageResponseBody"]>("GET", `/usage?by=${by}&since=${since}`),
};
