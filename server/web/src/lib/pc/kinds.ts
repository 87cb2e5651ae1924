// How a file can be read, by its name.

export type Kind = "markdown" | "html" | "pdf" | "image" | "table" | "json" | "notebook" | "office" | "text" | "none";

const byEnd: Record<string, Kind> = {
  md: "markdown", markdown: "markdown", html: "html", htm: "html", pdf: "pdf", png: "image", jpg: "image", jpeg: "image", gif: "image", webp: "image", svg: "image",
  csv: "table", tsv: "table", json: "json", ipynb: "notebook",
  docx: "office", xlsx: "office", pptx: "office", doc: "office", xls: "office", ppt: "office", odt: "office", ods: "office", odp: "office", rtf: "office", epub: "office", eml: "office", msg: "office",
  jsonl: "text",
};
const binary = new Set([
  "zip", "gz", "tgz", "bz2", "xz", "7z", "rar", "tar", "exe", "dll", "so", "dylib", "bin", "dat", "db", "sqlite",
  "parquet", "wasm", "class", "jar", "pyc", "o", "a", "mp3", "mp4", "mov", "avi", "wav", "ogg", "woff", "woff2", "ttf", "otf", "ico", "bmp", "tiff", "heic", "psd",
]);

export function endOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return name.includes(".") ? name.slice(name.lastIndexOf(".") + 1).toLowerCase() : "";
}

export function kindOf(path: string): Kind {
  const end = endOf(path);
  return byEnd[end] ?? (binary.has(end) ? "none" : "text");
}

/** Kinds whose source says more than what is drawn from it. */
export const hasSource = (path: string) => ["markdown", "html", "table", "json", "notebook"].includes(kindOf(path)) || endOf(path) === "svg";
