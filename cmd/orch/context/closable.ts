/** What is running, to be ended in reverse order of its start. */
export interface Closable {
  /** For those who wait for its end. */
  readonly name: string;
  close(): Promise<void>;
}
