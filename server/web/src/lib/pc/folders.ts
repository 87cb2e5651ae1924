// Files as folders show them.

import type { File } from "../api";

export interface Entry {
  name: string;
  path: string;
  bytes: number;
  files: number; // 0: it is a file; else how many are in the folder, at any depth
}

/** What is in a folder, folders first; "" is the workspace. */
export function entriesOf(files: File[], folder: string): Entry[] {
  const start = folder ? folder + "/" : "";
  const all = new Map<string, Entry>();
  for (const f of files) {
    if (!f.path.startsWith(start)) continue;
    const rest = f.path.slice(start.length);
    const cut = rest.indexOf("/");
    const name = cut < 0 ? rest : rest.slice(0, cut);
    const known = all.get(name);
    if (known) {
      known.bytes += f.bytes;
      known.files++;
    } else all.set(name, { name, path: start + name, bytes: f.bytes, files: cut < 0 ? 0 : 1 });
  }
  return [...all.values()].sort((a, b) => Number(b.files > 0) - Number(a.files > 0) || a.name.localeCompare(b.name));
}

export const parentOf = (path: string) => (path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "");
