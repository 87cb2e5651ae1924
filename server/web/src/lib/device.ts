// This browser as a device of the user: messages while the page is closed, a link for another one, signing out.

import { send } from "./api";

export interface Link {
  url: string;
  ends: string;
  qr: string[];
}

/** A link that signs another browser in, once. */
export const newLink = (): Promise<Link> => send("POST", "/logins", JSON.stringify({ address: location.origin }), "application/json").then((text) => JSON.parse(text) as Link);

/** Makes the browser forget its login, and shows the page that asks for one. */
export async function signOut(): Promise<void> {
  await fetch("logout", { method: "POST", headers: { "OpenManus-Page": "1" } });
  location.reload();
}

/** The dark modules of a QR code as the path of an SVG, one unit each. */
export const qrPath = (rows: string[]): string =>
  rows.flatMap((row, y) => [...row.matchAll(/1+/g)].map((run) => `M${run.index} ${y}h${run[0].length}v1h-${run[0].length}z`)).join("");

/** Registers the service worker, when the page has been shown. */
export function install(): void {
  if (!("serviceWorker" in navigator)) return;
  addEventListener("load", () => void navigator.serviceWorker.register("sw.js").catch(() => undefined)); // the page works without one
}

/** Whether this browser can get messages. Browsers that cannot have no PushManager, or no service worker. */
export const canPush = (): boolean => "serviceWorker" in navigator && "PushManager" in globalThis && "Notification" in globalThis;

/** The subscription of this browser, if it has one. */
export const subscribed = async (): Promise<PushSubscription | null> => (await navigator.serviceWorker.ready).pushManager.getSubscription();

/** Asks the person, and has messages sent to this browser. False: the person does not want any. */
export async function subscribe(language: string): Promise<boolean> {
  if ((await Notification.requestPermission()) !== "granted") return false;
  const { key } = JSON.parse(await send("GET", "/push")) as { key: string };
  const { pushManager } = await navigator.serviceWorker.ready;
  await (await pushManager.getSubscription())?.unsubscribe(); // it may be for another key
  const made = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  const { endpoint, keys } = made.toJSON();
  await send("POST", "/push", JSON.stringify({ endpoint, keys, language, name: deviceName(navigator.userAgent) }), "application/json");
  return true;
}

/** No more messages to this browser. */
export async function unsubscribe(s: PushSubscription): Promise<void> {
  await send("DELETE", "/push?endpoint=" + encodeURIComponent(s.endpoint));
  await s.unsubscribe();
}

/** What people know a browser by, such as "Firefox on Android". */
export function deviceName(agent: string): string {
  const first = (known: [RegExp, string][]) => known.find(([sign]) => sign.test(agent))?.[1];
  const browser = first([[/Edg\//, "Edge"], [/Firefox|FxiOS/, "Firefox"], [/SamsungBrowser/, "Samsung Internet"], [/Chrome|CriOS/, "Chrome"], [/Safari/, "Safari"]]) ?? "Browser";
  const system = first([[/iPhone/, "iPhone"], [/iPad/, "iPad"], [/Android/, "Android"], [/Windows/, "Windows"], [/Mac OS X/, "macOS"], [/Linux|CrOS/, "Linux"]]);
  return system ? `${browser} on ${system}` : browser;
}
