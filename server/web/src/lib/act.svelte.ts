/** Something that a person does: whether it is under way, and why it failed. */
export class Act {
  busy = $state(false);
  error = $state("");

  async run(what: () => Promise<unknown>): Promise<void> {
    this.busy = true;
    this.error = "";
    try {
      await what();
    } catch (e) {
      this.error = e instanceof Error ? e.message : String(e);
    }
    this.busy = false;
  }
}
