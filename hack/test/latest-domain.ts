/**
 * Replaces `async-hook-domain` in tap: assigns an uncaught error to a test. The original follows every promise of a process
 * with `async_hooks`, which took up to half of the CPU time of tests with many promises. This one assigns the error to the
 * running test that began last, which is the same test when one runs at a time.
 */
type Kind = 'uncaughtException' | 'unhandledRejection';
type Handler = (error: unknown, kind: Kind) => void;

/** Running tests, in the order in which they began. */
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
        // A test with its own listener handles the error.
        if (process.listenerCount(kind) === 1) running.at(-1)?.onerror(error, kind);
      },
    ] as const,
);
