// The chart of what was spent, day by day.

export interface Day {
  day: string; // 2006-01-02
  cost: number;
}

interface Cost {
  name: string;
  cost_usd: number | null;
}

/** The days of a period up to today, in UTC, those without use included. */
export function daysOf(used: Cost[], days: number, now: Date): Day[] {
  const by = new Map(used.map((u) => [u.name, u.cost_usd ?? 0]));
  return Array.from({ length: days }, (_, i) => {
    const day = new Date(now.getTime() - (days - 1 - i) * 86_400_000).toISOString().slice(0, 10);
    return { day, cost: by.get(day) ?? 0 };
  });
}

/** A round number that is not below the largest value, for the upper end of an axis. */
export function ceiling(most: number): number {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= most) ?? most;
}

/** The day on which more than three times as much was spent as is usual, if there is one: the newest. */
export function jump(days: Day[]): Day | null {
  const spent = days.filter((d) => d.cost > 0).map((d) => d.cost).sort((a, b) => a - b);
  const usual = spent[Math.floor((spent.length - 1) / 2)] ?? 0;
  return spent.length < 4 ? null : (days.findLast((d) => d.cost > 3 * usual) ?? null);
}

/** What cost most on a day: of what was used from it on, without what was used after it. */
export function mostOf(from: Cost[], after: Cost[]): { name: string; cost: number } | null {
  const later = new Map(after.map((u) => [u.name, u.cost_usd ?? 0]));
  const all = from.map((u) => ({ name: u.name, cost: (u.cost_usd ?? 0) - (later.get(u.name) ?? 0) })).filter((u) => u.cost > 0);
  return all.sort((a, b) => b.cost - a.cost)[0] ?? null;
}
