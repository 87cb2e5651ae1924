// The contents of files, as far as the page shows them.

export const most = 2_000_000; // bytes of a file that are read

export interface Loaded {
  text: string;
  more: boolean; // there is more than was read
}

/** Reads the text at an address of this server. A NUL in it says that it is none. */
export async function load(url: string, signal?: AbortSignal): Promise<Loaded> {
  const resp = await fetch(url, { headers: { Range: `bytes=0-${most - 1}` }, signal });
  if (resp.status === 416) return { text: "", more: false }; // it is empty
  if (resp.status === 404) throw new Missing(await problem(resp));
  if (!resp.ok) throw new Error(await problem(resp));
  const data = new Uint8Array(await resp.arrayBuffer());
  if (data.includes(0)) throw new Binary();
  const total = Number(/\/(\d+)$/.exec(resp.headers.get("Content-Range") ?? "")?.[1] ?? data.length);
  return { text: new TextDecoder().decode(data), more: total > data.length };
}

/** The file is no text. */
export class Binary extends Error {}

/** There is no such file. */
export class Missing extends Error {}

async function problem(resp: Response): Promise<string> {
  try {
    const p = JSON.parse(await resp.text());
    return String(p.errors?.[0]?.message ?? p.detail ?? resp.statusText);
  } catch {
    return resp.statusText;
  }
}
