import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// One classic script and one style sheet, which scripts/assembling.mjs writes into one HTML file. Names without hashes, so that
// the same sources give the same bytes.
export default defineConfig({
  plugins: [svelte()],
  build: {
    target: "es2022",
    outDir: "dist",
    cssCodeSplit: false,
    modulePreload: false,
    sourcemap: false,
    rollupOptions: {
      input: "src/main.ts",
      output: { format: "iife", entryFileNames: "explorer.js", assetFileNames: "explorer[extname]" },
    },
  },
});
