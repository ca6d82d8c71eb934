/** What is running, to be ended in reverse order of its start. */
export interface Closable {
  /** For those who wait for its end. */
  readonly name: string;
  close(): Promise<void>;
  /**
   * Ends what these programs do for it, and leaves to pods what they stand on: other programs, of another release, go on
   * with it. Absent: `close`.
   */
  leave?(): Promise<void>;
}

/** What the kernel keeps for pods; it needs nobody to go on. */
export function keptForPods(name: string, close: () => Promise<void>): Closable {
  return { name, close, leave: async () => undefined };
}

/** Work that begins now and goes on until it is closed: its signal aborts then, and whoever closes it hears of a failure. */
export function backgroundWork(name: string, start: (signal: AbortSignal) => Promise<unknown>): Closable {
  const stop = new AbortController();
  const work = start(stop.signal);
  work.catch(() => undefined);
  return {
    name,
    close: async () => {
      stop.abort();
      await work;
    },
  };
}
