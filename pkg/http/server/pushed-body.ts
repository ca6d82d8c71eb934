/**
 * A body that says by itself when there is a part of it: that of a watch. Waiting for the next part takes a promise or two
 * for each and for as long as the watch lasts, of which a server has thousands.
 */
export interface BodySink {
  /** A part, which is not empty. False: no more of them before the body is told to `resume`. Never throws. */
  part(bytes: Buffer): boolean;
  /** Called once, last; with an error where the body breaks off. Never throws. */
  ended(failure?: { readonly error: unknown }): void;
}

/** Either started or iterated, once. */
export abstract class PushedBody implements AsyncIterable<Buffer> {
  /** From now on parts come, the first maybe at once. */
  abstract start(sink: BodySink): void;

  /** The sink takes parts again; only after it has said that it does not. */
  abstract resume(): void;

  /** No more parts are wanted, and the sink is told nothing any more. Idempotent. */
  abstract stop(): void;

  /** For readers in this process: one part at a time. */
  [Symbol.asyncIterator](): AsyncIterator<Buffer> {
    const parts: Buffer[] = [];
    let started = false;
    let over: { readonly failure: { readonly error: unknown } | undefined } | undefined;
    let wake: (() => void) | undefined;
    let holds = false;
    const sink: BodySink = {
      part(bytes) {
        parts.push(bytes);
        holds = true;
        wake?.();
        return false;
      },
      ended(failure) {
        over = { failure };
        wake?.();
      },
    };
    const done = { done: true, value: undefined } as const;
    return {
      next: async () => {
        for (;;) {
          const value = parts.shift();
          if (value !== undefined) return { done: false, value };
          if (over?.failure !== undefined) throw over.failure.error;
          if (over !== undefined) return done;
          const resumes = holds;
          holds = false;
          if (!started) this.start(sink);
          else if (resumes) this.resume();
          started = true;
          if (parts.length > 0 || over !== undefined) continue;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      },
      return: async () => {
        over = { failure: undefined };
        parts.length = 0;
        this.stop();
        wake?.();
        return done;
      },
    };
  }
}
