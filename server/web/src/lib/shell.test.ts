import { expect, test } from "vitest";
import { readPushed, shellName } from "./shell";

const own = "http://127.0.0.1:8420";

test("only the page and its files are kept", () => {
  const name = (path: string, method = "GET", mode = "no-cors") => shellName(method, own + path, mode, own);
  expect(name("/", "GET", "navigate")).toBe("/");
  expect(name("/app.js")).toBe("/app.js");
  expect(name("/geist-latin.woff2")).toBe("/geist-latin.woff2");
  for (const path of ["/api/v1/sessions", "/api/v1/sessions/x/files/app.js", "/login", "/?token=x", "/approve/x", "/sw.js", "/app.js?x", "/v1/models", "/healthz"]) {
    expect(name(path, "GET", "navigate"), path).toBeUndefined();
  }
  expect(name("/", "GET", "cors")).toBeUndefined();
  expect(name("/", "POST", "navigate")).toBeUndefined();
  expect(shellName("GET", "https://example.org/app.js", "no-cors", own)).toBeUndefined();
});

test("messages lead to this server only", () => {
  const say = (path: unknown) => readPushed(JSON.stringify({ session: "s", title: "T", text: "x", path }))?.path;
  expect(say("/#/s/x")).toBe("/#/s/x");
  for (const path of ["//evil.example", "/\\evil.example", "https://evil.example", "javascript:alert(1)", ""]) expect(say(path)).toBe("/");
  expect(say(1)).toBeUndefined();
  for (const text of ["", "null", "[]", "{", "1"]) expect(readPushed(text)).toBeUndefined();
});
