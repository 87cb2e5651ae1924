// A person has many sessions. Those that wait for them are the oldest, and still the first to be seen.
import assert from "node:assert/strict";
import { link, newPage, over } from "./visit.mjs";
import { reachable, sizes } from "./reach.mjs";

const page = await newPage(link);
const rail = page.getByRole("navigation", { name: "Sessions" });
for (const name of ["Task 000", "Task 001"]) await rail.locator("div", { has: page.getByRole("heading", { name: "Needs you" }) }).getByRole("link", { name }).waitFor();
await rail.locator("div", { has: page.getByRole("heading", { name: "Running" }) }).getByRole("link", { name: "Task 002" }).waitFor();

// The start page has them first.
const resume = page.locator(".resume li");
await resume.filter({ hasText: "Task 001" }).getByRole("link", { name: "Answer" }).waitFor();
await resume.filter({ hasText: "Task 002" }).waitFor();
for (const [which, size] of Object.entries(sizes)) {
  await page.setViewportSize(size);
  await reachable(page, "start, " + which);
}

// The history asks the server, and goes on to the end.
await page.setViewportSize(sizes.laptop);
await page.evaluate(() => (location.hash = "#/history"));
const rows = page.locator(".hist li");
const filter = (name) => page.getByRole("button", { name, exact: true }).click();
await rows.filter({ hasText: "Task 259" }).waitFor();
await filter("Needs you");
await rows.filter({ hasText: "Task 000" }).waitFor();
await rows.filter({ hasText: "Task 001" }).waitFor();
assert.equal(await rows.count(), 2);
await filter("Running");
await rows.filter({ hasText: "Task 002" }).waitFor();
await filter("Failed");
await rows.filter({ hasText: "Task 040" }).waitFor();
assert.equal(await rows.count(), 1);
await filter("Done");
await rows.filter({ hasText: "Task 259" }).waitFor();
for (let n = 0; !(await rows.filter({ hasText: "Task 003" }).count()); n++) {
  assert.ok(n < 5, "it does not end");
  const before = await rows.count();
  await page.getByRole("button", { name: "Show more" }).click();
  await page.waitForFunction((before) => document.querySelectorAll(".hist li").length > before, before);
}
assert.equal(await rows.count(), 256);
await filter("All");
await rows.filter({ hasText: "Task 259" }).waitFor();
await page.getByRole("searchbox").fill("Task 000");
await rows.filter({ hasText: "Task 000" }).waitFor();
await filter("Needs you");
await page.waitForFunction(() => document.querySelectorAll(".hist li").length === 1);
await over();
