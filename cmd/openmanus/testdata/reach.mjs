// What is drawn, as a person at the page has it: they see it, get to it with a wheel or a finger, and press it.
import { wrong } from "./visit.mjs";

export const sizes = { desktop: { width: 1440, height: 900 }, laptop: { width: 1280, height: 720 }, phone: { width: 390, height: 844 } };

/** Everything that can be pressed, filled in or has to be read can be scrolled into view, nothing covers it, and every scroller turns. */
export async function reachable(page, what) {
  for (const fault of await page.evaluate(unreachable)) wrong.push(`${what}: ${fault}`);
  await turns(page, what);
}

// Runs in the page. scrollIntoView also scrolls what a person cannot scroll: that is taken back before the look.
function unreachable() {
  const faults = [];
  const focused = document.activeElement;
  const wanted = "a[href], button, input:not([type=hidden]), select, textarea, summary, h1, h2, h3, [role=alert], [role=status], [role=tab], [role=slider]";
  const read = /^(H\d|alert|status)$/; // which are not pressed
  const inside = document.querySelector("dialog:modal") ?? document;
  const called = (el) => `${el.tagName.toLowerCase()} “${(el.ariaLabel || el.textContent || el.placeholder || el.outerHTML).trim().replace(/\s+/g, " ").slice(0, 60)}”`;
  const chain = (el) => (el ? [el, ...chain(el.parentElement)] : []);
  const cuts = (el) => /hidden|clip/.test(getComputedStyle(el).overflow);
  const places = chain(document.body).concat([...document.querySelectorAll("*")].filter((el) => el.scrollTop || el.scrollLeft)).map((el) => [el, el.scrollTop, el.scrollLeft]);
  for (const el of inside.querySelectorAll(wanted)) {
    const { width, height } = el.getBoundingClientRect();
    if (!el.checkVisibility({ visibilityProperty: true }) || width < 2 || height < 2 || el.closest(".skip, .vh, .sr, [inert]")) continue; // for those who listen, or not yet there
    if (chain(el.parentElement).some((p) => getComputedStyle(p).opacity === "0")) el.focus({ preventScroll: true }); // it shows itself to who comes to it
    const own = getComputedStyle(el);
    if (own.clipPath !== "none" || own.position === "absolute" && own.opacity === "0") continue; // its label is what is pressed
    const fixed = chain(el.parentElement).filter(cuts).map((p) => [p, p.scrollTop, p.scrollLeft]);
    el.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
    for (const [p, top, left] of fixed) [p.scrollTop, p.scrollLeft] = [top, left];
    const r = el.getClientRects()[0];
    const at = [r.x + Math.min(r.width, el.clientWidth || r.width) / 2, r.y + r.height / 2];
    const hit = document.elementFromPoint(...at);
    if (!hit) faults.push(`${called(el)} is outside of the window at ${at.map(Math.round)}`);
    else if (read.test(el.role ?? el.tagName)) chain(el.parentElement).some((p) => cuts(p) && outside(p.getBoundingClientRect(), at)) && faults.push(`${called(el)} is cut off`);
    else if (!el.contains(hit) && hit.closest("label")?.control !== el) faults.push(`${called(el)} is covered by ${called(hit)} at ${at.map(Math.round)}`);
    if (document.activeElement !== focused) focused === document.body ? document.activeElement.blur() : focused.focus({ preventScroll: true });
  }
  for (const [el, top, left] of places) [el.scrollTop, el.scrollLeft] = [top, left];
  return faults;

  function outside(box, [x, y]) {
    return x < box.left || x > box.right || y < box.top || y > box.bottom;
  }
}

/** Each scroller with more than it shows gets to its end, and back, by the wheel. */
async function turns(page, what) {
  const scrollers = await page.evaluateHandle(() =>
    [...(document.querySelector("dialog:modal") ?? document).querySelectorAll("*")].filter((el) => {
      const more = el.scrollHeight - el.clientHeight > 1 && el.clientHeight > 30;
      return more && el.checkVisibility({ visibilityProperty: true }) && (el.matches(".scroll, main") || /auto|scroll/.test(getComputedStyle(el).overflowY));
    }),
  );
  for (let i = 0; i < (await scrollers.evaluate((all) => all.length)); i++) {
    // Where the wheel turns this one, and not another within it.
    const at = await scrollers.evaluate((all, i) => {
      const el = all[i];
      el.scrollIntoView({ block: "nearest", behavior: "instant" });
      const box = el.getBoundingClientRect();
      const scrolls = (e) => e && (e === el || (e.scrollHeight - e.clientHeight > 1 && /auto|scroll/.test(getComputedStyle(e).overflowY)) ? e : scrolls(e.parentElement));
      for (const y of [0.5, 0.2, 0.8, 0.05, 0.95, 0.35, 0.65])
        for (const x of [0.5, 0.1, 0.9, 0.02, 0.98]) {
          const p = [box.left + box.width * x, box.top + box.height * y];
          if (scrolls(document.elementFromPoint(...p)) === el) return [...p, el.scrollTop, el.scrollHeight - el.clientHeight, el.className || el.tagName];
        }
      return [NaN, NaN, 0, 0, el.className || el.tagName];
    }, i);
    const [x, y, top, end, name] = at;
    const turned = async (to) => {
      await page.mouse.move(x, y);
      for (let tries = 0; tries < 4; tries++) {
        await page.mouse.wheel(0, (to - top) * 2);
        const there = await scrollers.evaluate(async (all, [i, to]) => {
          const there = () => Math.abs(all[i].scrollTop - Math.min(to, all[i].scrollHeight - all[i].clientHeight)) < 2;
          for (const until = performance.now() + 1500; performance.now() < until && !there(); ) await new Promise(requestAnimationFrame);
          return there();
        }, [i, to]);
        if (there) return true;
      }
      return false;
    };
    const to = end - top > 1 ? end : 0;
    if (Number.isNaN(x)) wrong.push(`${what}: the wheel does not get at the scroller ${name}`);
    else if (!(await turned(to))) wrong.push(`${what}: the wheel does not turn ${name} from ${Math.round(top)} to ${to}`);
    await scrollers.evaluate((all, [i, top]) => (all[i].scrollTop = top), [i, top]);
  }
  await page.mouse.move(0, 0);
}

/** Every picture that is to be seen has loaded and has a size. */
export async function drawn(page, what) {
  const broken = await page.evaluate(async () => {
    const shown = [...document.images].filter((i) => i.checkVisibility({ visibilityProperty: true }));
    await Promise.all(shown.map((i) => i.decode().catch(() => undefined)));
    return shown.filter((i) => !i.naturalWidth).map((i) => i.getAttribute("src").slice(0, 200));
  });
  for (const src of broken) wrong.push(`${what}: a picture is not drawn: ${src}`);
}

/** How much of what is drawn there has a colour, from 0 to 1. Paper, grey text and lines have none. */
export async function coloured(page, locator) {
  const png = (await locator.screenshot()).toString("base64");
  return page.evaluate(async (png) => {
    const image = await createImageBitmap(new Blob([Uint8Array.from(atob(png), (c) => c.charCodeAt(0))]));
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
    canvas.drawImage(image, 0, 0);
    const { data } = canvas.getImageData(0, 0, image.width, image.height);
    let n = 0;
    for (let i = 0; i < data.length; i += 4) if (Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 60) n++;
    return n / (data.length / 4);
  }, png);
}
