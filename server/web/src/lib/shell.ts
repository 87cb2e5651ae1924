// What the service worker may keep, and what it shows of a message. Pure, for tests.

/** Files of the page end with these. Everything else is the server's alone. */
const files = /^\/[\w.-]+\.(?:js|mjs|css|woff2|svg|png|webmanifest)$/;

/** The name under which a request's response may be kept, or none. Answers of the API, sign-ins and files of sessions are never kept. */
export function shellName(method: string, address: string, mode: string, own: string): string | undefined {
  const url = new URL(address);
  if (method !== "GET" || url.origin !== own || url.search) return undefined;
  if (url.pathname === "/") return mode === "navigate" ? "/" : undefined;
  return files.test(url.pathname) && url.pathname !== "/sw.js" ? url.pathname : undefined;
}

/** What the server pushes: a session that waits for the person or has ended. */
export interface Pushed {
  session: string;
  title: string;
  text: string;
  path: string; // where a click leads, on this server
}

/** Reads a message. What is not one of ours is nothing. */
export function readPushed(text: string): Pushed | undefined {
  try {
    const p = JSON.parse(text) as Partial<Pushed>;
    if (typeof p.session !== "string" || typeof p.title !== "string" || typeof p.path !== "string") return undefined;
    // A path, and no other server's address.
    const path = /^\/(?![/\\])/.test(p.path) ? p.path : "/";
    return { session: p.session, title: p.title, text: String(p.text ?? ""), path };
  } catch {
    return undefined;
  }
}
