// Times that repeat, as a person picks them, and as the server takes them.

export type Often = "daily" | "weekdays" | "weekly" | "once" | "cron";

export interface Times {
  often: Often;
  time: string; // HH:MM
  weekday: string; // of cron: 0 is Sunday
  date: string; // YYYY-MM-DD
  cron: string;
}

/** The member of a new schedule that says when it is due. */
export function dueOf(t: Times): { cron: string } | { at: string } {
  const [hour, minute] = t.time.split(":").map(Number);
  switch (t.often) {
    case "daily":
      return { cron: `${minute} ${hour} * * *` };
    case "weekdays":
      return { cron: `${minute} ${hour} * * 1-5` };
    case "weekly":
      return { cron: `${minute} ${hour} * * ${t.weekday}` };
    case "once":
      return { at: `${t.date}T${t.time}` };
    default:
      return { cron: t.cron.trim() };
  }
}

/** The days of the week in a language, from Monday on, with their numbers in cron. */
export function weekdays(language: string): { number: string; name: string }[] {
  const name = new Intl.DateTimeFormat(language, { weekday: "long", timeZone: "UTC" });
  return [1, 2, 3, 4, 5, 6, 0].map((n) => ({ number: String(n), name: name.format(new Date(Date.UTC(2026, 1, 1 + n))) })); // 1 February 2026 is a Sunday
}
