/** Counts events of many watches, and waits for them. */
const lineFeed = 10;

export class Arrivals {
  #events = 0;
  #waiting: { readonly events: number; readonly done: () => void } | undefined;
  #broken: Error | undefined;

  /** Events of all watches together. Throws if a watch has ended. */
  get events(): number {
    if (this.#broken !== undefined) throw this.#broken;
    return this.#events;
  }

  /** Adds the lines that end in a chunk, and returns their number. */
  add(piece: Buffer): number {
    let lines = 0;
    for (let at = piece.indexOf(lineFeed); at >= 0; at = piece.indexOf(lineFeed, at + 1)) lines++;
    this.#events += lines;
    this.#look();
    return lines;
  }

  /** A watch has ended. */
  break(error: Error): void {
    this.#broken ??= error;
    this.#look();
  }

  /** Resolves after this many events since the start. Only one caller may wait. */
  async reached(events: number): Promise<void> {
    if (this.events >= events) return;
    await new Promise<void>((resolve) => {
      this.#waiting = { events, done: resolve };
    });
    if (this.#broken !== undefined) throw this.#broken;
  }

  #look(): void {
    const waiting = this.#waiting;
    if (waiting === undefined || (this.#events < waiting.events && this.#broken === undefined)) return;
    this.#waiting = undefined;
    waiting.done();
  }
}
