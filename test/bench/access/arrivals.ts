/** Events that have come through many watches, and whoever waits for the next ones. */
const lineFeed = 10;

export class Arrivals {
  #events = 0;
  #waiting: { readonly events: number; readonly done: () => void } | undefined;
  #broken: Error | undefined;

  /** Of all watches together. Throws when one has ended. */
  get events(): number {
    if (this.#broken !== undefined) throw this.#broken;
    return this.#events;
  }

  /** Counts the lines that end in a piece of an answer; as many come back. */
  add(piece: Buffer): number {
    let lines = 0;
    for (let at = piece.indexOf(lineFeed); at >= 0; at = piece.indexOf(lineFeed, at + 1)) lines++;
    this.#events += lines;
    this.#look();
    return lines;
  }

  /** A watch is over. */
  break(error: Error): void {
    this.#broken ??= error;
    this.#look();
  }

  /** Resolves when that many have come since the beginning. One may wait at a time. */
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
