// How the states of a session look, everywhere.

import type { Status } from "./api";
import type { IconName } from "./icons";

/** now: it happens; wait: it needs a person; bad: it went wrong; "": it is over. */
export type Tone = "now" | "wait" | "bad" | "";

export const marks: Record<Status, { icon: IconName; tag: IconName; tone: Tone }> = {
  idle: { icon: "circle", tag: "circle", tone: "" },
  running: { icon: "loader-circle", tag: "loader-circle", tone: "now" },
  waiting: { icon: "circle-pause", tag: "hand", tone: "wait" },
  finished: { icon: "circle-check", tag: "check", tone: "" },
  failed: { icon: "circle-x", tag: "triangle-alert", tone: "bad" },
  stopped: { icon: "circle-stop", tag: "square", tone: "" },
};

/** A session that may still act by itself. */
export const works = (status: Status | undefined) => status === "running" || status === "waiting";
