import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// Names without hashes: the server tells browsers by an ETag what is new.
export default defineConfig({
  plugins: [svelte()],
  base: "./",
  worker: { format: "es", rollupOptions: { output: { entryFileNames: "feed.js", chunkFileNames: "[name].js" } } },
  build: {
    outDir: "dist",
    assetsInlineLimit: 0,
    modulePreload: false,
    license: { fileName: "licenses.md" },
    rollupOptions: {
      input: { index: "index.html", sw: "src/sw.ts" },
      output: { entryFileNames: (c) => (c.name === "sw" ? "sw.js" : "app.js"), chunkFileNames: "[name].js", assetFileNames: "[name][extname]" },
    },
  },
});
