// Numbers, times and sizes as people read them. `language` is a tag such as "en".

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

const two = (n: number) => String(n).padStart(2, "0");

/** How long something took: "0.4 s", "12 s", "1:12", "2:03:04". */
export function duration(seconds: number): string {
  if (!(seconds > 0)) return "0 s";
  if (seconds < 9.95) return seconds.toFixed(1) + " s";
  const s = Math.round(seconds);
  if (s < minute) return s + " s";
  if (s < hour) return `${Math.floor(s / minute)}:${two(s % minute)}`;
  return `${Math.floor(s / hour)}:${two(Math.floor((s % hour) / minute))}:${two(s % minute)}`;
}

/** How long ago it was, in words: "2 minutes ago". */
export function ago(seconds: number, language: string, now: string): string {
  if (seconds < 45) return now;
  const f = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  if (seconds < hour) return f.format(-Math.max(1, Math.round(seconds / minute)), "minute");
  if (seconds < day) return f.format(-Math.round(seconds / hour), "hour");
  return f.format(-Math.round(seconds / day), "day");
}

/** An amount of dollars; small ones with the digits that show them. */
export function dollars(n: number): string {
  return "$" + n.toFixed(n > 0 && n < 0.01 ? 4 : 2);
}

/** A number of bytes: "6 kB". */
export function size(bytes: number): string {
  if (bytes < 1000) return bytes + " B";
  const units = ["kB", "MB", "GB", "TB"];
  let n = bytes;
  let i = -1;
  while (n >= 1000 && i < units.length - 1) (n /= 1000), i++;
  return (n < 9.95 ? n.toFixed(1) : Math.round(n)) + " " + units[i];
}

/** The time of day. */
export function clock(time: string | Date, language: string): string {
  return new Date(time).toLocaleTimeString(language);
}

/** In which part of the list of sessions a time belongs. */
export function period(time: string | Date, now: Date): "today" | "yesterday" | "thisWeek" | "earlierDays" {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const days = (midnight - new Date(time).getTime()) / (day * 1000);
  return days <= 0 ? "today" : days <= 1 ? "yesterday" : days <= 6 ? "thisWeek" : "earlierDays";
}

/** The name of a model as people say it: without its provider, and without the path of a script. */
export function modelName(model: string): string {
  return model.startsWith("scripted:") ? "scripted" : model.slice(model.lastIndexOf("/") + 1);
}
