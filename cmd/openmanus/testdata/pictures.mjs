// A person looks at all that a session drew: pictures of each kind, charts, reports; as they are, and as they were.
import assert from "node:assert/strict";
import { link, newPage, over, wrong } from "./visit.mjs";
import { coloured, drawn } from "./reach.mjs";

const page = await newPage(link);
await page.getByRole("textbox", { name: "What do you want done?" }).fill("Draw it");
await page.getByRole("button", { name: "What it may do without asking" }).click();
await page.getByRole("radio", { name: "Everything" }).check();
await page.keyboard.press("Escape");
await page.getByRole("button", { name: "Start", exact: true }).click();
await page.getByRole("log").getByText("All is drawn.").waitFor();

const tab = page.getByRole("tab", { name: /^Files/ });
const back = page.getByRole("button", { name: "Back to the files" });
const open = async (name) => {
  await tab.click();
  await page.locator(".flist").getByRole("button", { name: "Open " + name, exact: true }).click();
};
const pictures = ["a.png", "b.jpg", "c.jpeg", "d.gif", "e.webp", "f.svg", "plots & tables/in März #1 100%.png"];
async function all(when) {
  for (const name of pictures) {
    await open(name);
    await page.locator("img.sheet-of").waitFor({ state: "attached" });
    await drawn(page, `${name}, ${when}`);
  }
  await open("seen.md");
  await page.locator(".paper img").nth(1).waitFor({ state: "attached" });
  await drawn(page, "pictures in a text, " + when);
  for (const name of ["visualization/Revenue.html", "visualization/Cost.html", "report.html"]) {
    await open(name);
    const frame = page.locator("iframe.page-frame");
    await frame.waitFor();
    await page.waitForFunction(() => document.querySelector("iframe.page-frame")?.clientHeight > 100);
    let part = 0;
    for (let n = 0; n < 40 && part < 0.0005; n++) part = await coloured(page, frame);
    assert.ok(part >= 0.0005, `${name}, ${when}: ${part} of it has a colour, so there is no chart`);
  }
  // With its scripts, the same place has the chart that answers the pointer, once.
  const frame = page.frameLocator("iframe.page-frame");
  await page.getByRole("button", { name: "Run its scripts" }).click();
  await frame.locator("#chart-1 canvas").first().waitFor();
  assert.equal(await frame.locator("#chart-1 svg").count(), 0, "the still chart stays beside the moving one");
}
await all("now");

// As it was: after the report was made, and before anything was.
const events = await page.evaluate((id) => fetch(`api/v1/sessions/${id}/log`).then((r) => r.json()).then((r) => r.items), (await page.evaluate(() => location.hash)).split("/")[2]);
await page.getByRole("slider").fill(String(events.findLast((e) => e.type === "call_done").seq));
await page.getByText("You are looking at").waitFor();
await all("then");
wrong.splice(0, wrong.length, ...wrong.filter((w) => !/^Blocked script execution.*frame=still/.test(w))); // as it should be
await over();
