import type { Acts } from "../../lib/acts.svelte";

/** What every block of a conversation needs to know. */
export interface Around {
  id: string; // of the session
  acts: Acts;
  saved: boolean; // it is a saved page: nothing can be done
  watched: string | null; // the call whose work is shown
  onfile: (path: string) => void;
}
