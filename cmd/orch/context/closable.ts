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
