// Where the person is: the part of the address after #.

export type Place = { at: "start" } | { at: "session"; id: string } | { at: "history" } | { at: "settings"; section: string };

/** Reads an address such as "#/s/ID". What is no place is the start. */
export function placeOf(hash: string): Place {
  const [, first, ...rest] = hash.split("/");
  const more = decode(rest.join("/"));
  if (first === "s" && more) return { at: "session", id: more };
  if (first === "history") return { at: "history" };
  if (first === "settings") return { at: "settings", section: more };
  return { at: "start" };
}

function decode(s: string): string {
  try {
    return decodeURIComponent(s);
  } catch {
    return s;
  }
}

class Route {
  place = $state.raw<Place>({ at: "start" });

  /** Follows the address of the page from now on. */
  follow(): void {
    this.place = placeOf(location.hash);
    addEventListener("hashchange", () => (this.place = placeOf(location.hash)));
  }
}

export const route = new Route();
