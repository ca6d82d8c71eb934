/** What is running, to be ended in reverse order of its start. */
export interface Closable {
  close(): Promise<void>;
}
