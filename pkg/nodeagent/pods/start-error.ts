/** Why a sandbox or a container does not start. */
export class StartError extends Error {
  override readonly name = 'StartError';
  /** Becomes the waiting reason of the container's status. */
  readonly reason: string;
  /** Instant of the clock that is never set (ms) before which it is not tried again. */
  readonly retryAt: number;
  /** The runtime's state has changed all the same. */
  readonly hasActed: boolean;

  constructor(reason: string, message: string, retryAt: number, options: { cause?: unknown; hasActed?: boolean } = {}) {
    super(message, options);
    this.reason = reason;
    this.retryAt = retryAt;
    this.hasActed = options.hasActed ?? false;
  }
}

/** Release 1.24 looks at a pod that failed to start again after this. */
export const startRetryMs = 10_000;
