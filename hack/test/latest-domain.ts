/**
 * What tap is built with in place of `async-hook-domain`: says which test an error belongs to that nobody caught. That one
 * follows every promise of a process by `async_hooks`, which took up to half of the processor's time of tests with many
 * of them. Here it is the test that began last of those that still run, which is the same where one runs at a time.
 */
type Kind = 'uncaughtException' | 'unhandledRejection';
type Handler = (error: unknown, kind: Kind) => void;

/** Those that still run, in the order in which they began. */
const running: Domain[] = [];

export class Domain {
  readonly onerror: Handler;

  constructor(onerror: Handler) {
    this.onerror = onerror;
    if (running.length === 0) for (const [kind, listener] of listeners) process.on(kind, listener);
    running.push(this);
  }

  destroy(): void {
    const at = running.indexOf(this);
    if (at === -1) return;
    running.splice(at, 1);
    if (running.length === 0) for (const [kind, listener] of listeners) process.off(kind, listener);
  }
}

const listeners = (['uncaughtException', 'unhandledRejection'] as const).map(
  (kind) =>
    [
      kind,
      (error: unknown) => {
        // A test that listens itself knows what to do.
        if (process.listenerCount(kind) === 1) running.at(-1)?.onerror(error, kind);
      },
    ] as const,
);
