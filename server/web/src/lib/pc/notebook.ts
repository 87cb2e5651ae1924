// Jupyter notebooks: https://nbformat.readthedocs.io/

export interface NotebookCell {
  kind: "markdown" | "code" | "raw";
  source: string;
  text: string; // what it printed
  images: { mime: string; data: string }[];
}

const most = 500;
const joined = (v: unknown) => (Array.isArray(v) ? v.map(String).join("") : typeof v === "string" ? v : "");
const list = (v: unknown): any[] => (Array.isArray(v) ? v : []);

/** The cells of a notebook, and the language of its code. It throws if the text is none. */
export function notebookOf(text: string): { language: string; cells: NotebookCell[] } {
  const book = JSON.parse(text);
  if (!Array.isArray(book?.cells)) throw new Error("no cells");
  const cells = list(book.cells).slice(0, most).map((c): NotebookCell => {
    const kind = c?.cell_type === "markdown" || c?.cell_type === "code" ? c.cell_type : "raw";
    const cell: NotebookCell = { kind, source: joined(c?.source), text: "", images: [] };
    for (const o of list(c?.outputs)) {
      const data = o?.data ?? {};
      const image = ["image/png", "image/jpeg"].find((mime) => data[mime]);
      if (image) cell.images.push({ mime: image, data: joined(data[image]).replace(/[^A-Za-z0-9+/=]/g, "") });
      else cell.text += joined(o?.text) || joined(data["text/plain"]) || list(o?.traceback).map(String).join("\n");
      if (cell.text && !cell.text.endsWith("\n")) cell.text += "\n";
    }
    return cell;
  });
  return { language: String(book.metadata?.language_info?.name ?? book.metadata?.kernelspec?.language ?? "python"), cells };
}
