// PDFs are drawn by pdf.js, in a worker. Both come with the first one.

import type { PDFDocumentProxy } from "pdfjs-dist";
import worker from "pdfjs-dist/legacy/build/pdf.worker.min.mjs?url";

export type Document = PDFDocumentProxy;

/** Reads a document. It loads nothing, and nothing in it runs. */
export async function pdf(data: Uint8Array): Promise<Document> {
  const js = await import("pdfjs-dist/legacy/build/pdf.mjs");
  js.GlobalWorkerOptions.workerSrc = worker;
  return js.getDocument({ data, enableXfa: false, disableFontFace: true, useSystemFonts: false, stopAtErrors: false, useWasm: false }).promise;
}

const widest = 1000; // CSS pixels

/** Draws a page, as wide as the canvas, and returns its text. */
export async function draw(doc: Document, number: number, canvas: HTMLCanvasElement): Promise<string> {
  const page = await doc.getPage(number);
  const whole = page.getViewport({ scale: 1 });
  const scale = (Math.min(widest, canvas.clientWidth || widest) / whole.width) * Math.min(2, devicePixelRatio || 1);
  const viewport = page.getViewport({ scale });
  canvas.width = Math.floor(viewport.width);
  canvas.height = Math.floor(viewport.height);
  await page.render({ canvas, viewport, annotationMode: 0 }).promise;
  const content = await page.getTextContent();
  return content.items.map((i) => ("str" in i ? i.str + (i.hasEOL ? "\n" : "") : "")).join("");
}
