// What reaches a person who looks elsewhere: the title of the window, and notifications of the system.

import type { Session } from "./api";
import { t } from "./i18n.svelte";
import { sessions } from "./sessions.svelte";

class Notes {
  allowed = $state(globalThis.Notification?.permission === "granted");

  /** Whether the person can still be asked for leave. */
  get possible(): boolean {
    return !!globalThis.Notification && !this.allowed && Notification.permission !== "denied";
  }

  async ask(): Promise<void> {
    this.allowed = (await Notification.requestPermission()) === "granted";
  }
}

export const notes = new Notes();

/** Takes that a session stands differently. */
export function told(s: Session): void {
  document.title = (s.status === "waiting" ? "● " : "") + s.title + " · OpenManus";
  sessions.take(s);
  const rests = s.status !== "running" && s.status !== "idle";
  if (notes.allowed && rests && document.hidden) new Notification(s.title, { body: t(`status_${s.status}`), tag: s.id });
}
