// Files that the user attaches.

import { api, type Attachment } from "./api";

export interface Chosen {
  file: globalThis.File;
}

/** What a message had besides its words: files in the workspace, by name, and pictures. */
export interface Brought {
  names: string[];
  images: { mime: string; name: string; data: string }[];
}

const noted = "\n\nFiles in the workspace for this: ";

/** The words of a message, and the names of the files that the page noted below them. */
export function withoutNote(text: string): { words: string; names: string[] } {
  const at = text.lastIndexOf(noted);
  const names = at < 0 ? "" : text.slice(at + noted.length);
  return names && !names.includes("\n") ? { words: text.slice(0, at), names: names.split(", ") } : { words: text, names: [] };
}

const mostImage = 10 << 20;

/** Shows images to the agent, and puts everything else into its folder. What an earlier message brought goes along: its files are in the folder. */
export async function attach(id: string, files: Chosen[], before: Brought = { names: [], images: [] }): Promise<{ attachments: Attachment[]; note: string }> {
  const attachments: Attachment[] = before.images.filter((i) => !files.some((f) => f.file.name === i.name));
  const names: string[] = before.names.filter((n) => !files.some((f) => f.file.name === n));
  for (const { file } of files) {
    if (/^image\/(png|jpeg|gif|webp)$/.test(file.type) && file.size <= mostImage) attachments.push({ name: file.name, mime: file.type, data: await base64(file) });
    await api.upload(id, file.name, file);
    names.push(file.name);
  }
  return { attachments, note: names.length ? noted + names.join(", ") : "" };
}

function base64(file: globalThis.File): Promise<string> {
  return new Promise((done, failed) => {
    const r = new FileReader();
    r.onload = () => done(String(r.result).split(",")[1] ?? "");
    r.onerror = () => failed(r.error);
    r.readAsDataURL(file);
  });
}
