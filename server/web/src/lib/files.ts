// Files that the user attaches.

import { api, type Attachment } from "./api";

export interface Chosen {
  file: globalThis.File;
}

const mostImage = 10 << 20;

/** Shows images to the agent, and puts everything else into its folder. */
export async function attach(id: string, files: Chosen[]): Promise<{ attachments: Attachment[]; note: string }> {
  const attachments: Attachment[] = [];
  const names: string[] = [];
  for (const { file } of files) {
    if (/^image\/(png|jpeg|gif|webp)$/.test(file.type) && file.size <= mostImage) attachments.push({ name: file.name, mime: file.type, data: await base64(file) });
    await api.upload(id, file.name, file);
    names.push(file.name);
  }
  return { attachments, note: names.length ? "\n\nFiles in the workspace for this: " + names.join(", ") : "" };
}

function base64(file: globalThis.File): Promise<string> {
  return new Promise((done, failed) => {
    const r = new FileReader();
    r.onload = () => done(String(r.result).split(",")[1] ?? "");
    r.onerror = () => failed(r.error);
    r.readAsDataURL(file);
  });
}
