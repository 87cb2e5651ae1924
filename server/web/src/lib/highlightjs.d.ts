// The part of the highlighter that this page uses; the package has no types.

declare module "@highlightjs/cdn-assets/es/core.min.js" {
  interface Highlighter {
    registerLanguage(name: string, language: unknown): void;
    registerAliases(names: string[], to: { languageName: string }): void;
    getLanguage(name: string): unknown;
    highlight(code: string, options: { language: string; ignoreIllegals: boolean }): { value: string };
  }
  const hljs: Highlighter;
  export default hljs;
}

declare module "@highlightjs/cdn-assets/es/languages/*.min.js" {
  const language: unknown;
  export default language;
}
