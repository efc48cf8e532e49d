// Builds one file: a page with its script and style inside, and a mark where the command puts the data. The mode says which
// page.

import { defineConfig } from "vite";

/** Puts the script and the style into the page. */
function inline() {
  return {
    name: "inline",
    enforce: "post",
    generateBundle(_options, bundle) {
      const files = Object.values(bundle);
      const page = files.find((file) => file.fileName.endsWith(".html"));
      const script = files.find((file) => file.type === "chunk");
      const style = files.find((file) => file.fileName.endsWith(".css"));
      const code = script.code.trim().replaceAll("</script", "<\\/script");
      page.source = String(page.source)
        .replace(/\s*<script[^>]*src=[^>]*><\/script>/, "")
        .replace(/\s*<link rel="stylesheet"[^>]*>/, "")
        .replace("</head>", () => `<style>${String(style.source).trim()}</style>\n</head>`)
        .replace("</body>", () => `<script type="module">${code}</script>\n</body>`);
      for (const file of [script, style]) delete bundle[file.fileName];
    },
  };
}

export default defineConfig(({ mode }) => ({
  plugins: [inline()],
  base: "./",
  build: {
    outDir: "dist",
    emptyOutDir: false,
    modulePreload: false,
    cssCodeSplit: false,
    target: "es2022",
    rolldownOptions: { input: `${mode}.html` },
  },
}));
