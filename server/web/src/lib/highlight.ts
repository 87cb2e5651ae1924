// The languages of code that get colours.

import hljs from "@highlightjs/cdn-assets/es/core.min.js";
import bash from "@highlightjs/cdn-assets/es/languages/bash.min.js";
import c from "@highlightjs/cdn-assets/es/languages/c.min.js";
import cpp from "@highlightjs/cdn-assets/es/languages/cpp.min.js";
import csharp from "@highlightjs/cdn-assets/es/languages/csharp.min.js";
import css from "@highlightjs/cdn-assets/es/languages/css.min.js";
import diff from "@highlightjs/cdn-assets/es/languages/diff.min.js";
import dockerfile from "@highlightjs/cdn-assets/es/languages/dockerfile.min.js";
import go from "@highlightjs/cdn-assets/es/languages/go.min.js";
import ini from "@highlightjs/cdn-assets/es/languages/ini.min.js";
import java from "@highlightjs/cdn-assets/es/languages/java.min.js";
import javascript from "@highlightjs/cdn-assets/es/languages/javascript.min.js";
import json from "@highlightjs/cdn-assets/es/languages/json.min.js";
import kotlin from "@highlightjs/cdn-assets/es/languages/kotlin.min.js";
import makefile from "@highlightjs/cdn-assets/es/languages/makefile.min.js";
import markdown from "@highlightjs/cdn-assets/es/languages/markdown.min.js";
import php from "@highlightjs/cdn-assets/es/languages/php.min.js";
import python from "@highlightjs/cdn-assets/es/languages/python.min.js";
import r from "@highlightjs/cdn-assets/es/languages/r.min.js";
import ruby from "@highlightjs/cdn-assets/es/languages/ruby.min.js";
import rust from "@highlightjs/cdn-assets/es/languages/rust.min.js";
import sql from "@highlightjs/cdn-assets/es/languages/sql.min.js";
import swift from "@highlightjs/cdn-assets/es/languages/swift.min.js";
import typescript from "@highlightjs/cdn-assets/es/languages/typescript.min.js";
import xml from "@highlightjs/cdn-assets/es/languages/xml.min.js";
import yaml from "@highlightjs/cdn-assets/es/languages/yaml.min.js";

const languages = {
  bash, c, cpp, csharp, css, diff, dockerfile, go, ini, java, javascript, json, kotlin, makefile, markdown, php, python, r, ruby, rust, sql, swift, typescript, xml, yaml,
};
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language);
hljs.registerAliases(["svelte", "vue"], { languageName: "xml" });
hljs.registerAliases(["console", "shell", "zsh"], { languageName: "bash" });

export default hljs;
