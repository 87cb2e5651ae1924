// What a file is, by its name.

import type { Word } from "./i18n.svelte";
import type { IconName } from "./icons";

/** What a person calls such a file, and its icon. */
export interface Sort {
  word: Word;
  icon: IconName;
}

const sorts: [RegExp, Sort][] = [
  [/\.(md|txt|rst|docx?|odt|pdf|html?|rtf|tex)$/i, { word: "file_text", icon: "file-text" }],
  [/\.(csv|tsv|xlsx?|ods|parquet|sqlite|db)$/i, { word: "file_table", icon: "file-spreadsheet" }],
  [/\.(png|jpe?g|gif|webp|svg|bmp|ico)$/i, { word: "file_picture", icon: "file-image" }],
  [/\.(json|ya?ml|toml|xml|ini)$/i, { word: "file_data", icon: "code" }],
  [/\.(js|ts|py|go|rs|java|c|h|cpp|cs|rb|php|sh|svelte|vue|css|sql|swift|kt)$/i, { word: "file_code", icon: "code" }],
  [/\.(zip|tar|gz|tgz|7z)$/i, { word: "file_archive", icon: "folder" }],
];

export function sortOf(path: string): Sort {
  return sorts.find(([name]) => name.test(path))?.[1] ?? { word: "file_other", icon: "file" };
}
