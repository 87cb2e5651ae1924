import type { Acts } from "../../lib/acts.svelte";

/** What every block of a conversation needs to know. */
export interface Around {
  id: string; // of the session
  acts: Acts;
  watched: string | null; // the call whose work is shown
  onfile: (path: string) => void;
  redo: number; // the event that took the session back, if that can be taken back; else 0
  /** The last event of what a reply led to. */
  until: (seq: number) => number;
}
