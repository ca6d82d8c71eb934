/**
 * What becomes of failures that nothing has handled, in a process that is a daemon's own.
 *
 * - A promise that nobody watched, and an `error` event of a connection or stream that nobody listened to, are failures of
 *   one task or one peer: they are logged and counted, and everything else goes on.
 * - Any other exception has left some function in the middle of what it did, maybe with half of a state changed: the
 *   process is ended at once, without writing any more, and whoever runs it starts it again from what is stored.
 *
 * Both are defects, whatever the outcome: each of these failures has a place where it should have been handled.
 */
import type { Logger } from '#daemon/log/logger.js';

/** What of the process it touches. */
export interface FailingProcess {
  on(event: 'unhandledRejection', listener: (reason: unknown) => void): unknown;
  on(event: 'uncaughtException', listener: (error: unknown) => void): unknown;
  /** Ends the process at once. */
  exit(code: number): void;
}

/** Kinds of failures that the process survives. */
export type StrayKind = 'rejection' | 'stream';

/** Calls of the system that streams and servers make on their own time, so that no function of ours is left halfway. */
const streamCalls: ReadonlySet<string> = new Set([
  'accept',
  'connect',
  'getaddrinfo',
  'read',
  'shutdown',
  'write',
  'writev',
]);

/** Codes of the runtime's and its libraries' errors that concern one stream or connection. */
const streamCodes =
  /^(ERR_(STREAM|HTTP|HTTP2|HTTPS?_|SSL|TLS|SOCKET|IPC)|HPE_|WS_ERR_|Z_|ECONNRESET$|EPIPE$|ABORT_ERR$)/;

/** True for the failure of one stream, connection or server. */
export function isStreamFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, syscall } = error as NodeJS.ErrnoException;
  return (syscall !== undefined && streamCalls.has(syscall)) || (typeof code === 'string' && streamCodes.test(code));
}

export class LastResort {
  readonly #process: FailingProcess;
  readonly #strays: Record<StrayKind, number> = { rejection: 0, stream: 0 };
  #log: Logger | undefined;
  #flush: () => void = () => undefined;

  /** Listens from now on. */
  constructor(process: FailingProcess) {
    this.#process = process;
    process.on('unhandledRejection', (reason) => this.#survived('rejection', reason));
    process.on('uncaughtException', (error) => {
      if (isStreamFailure(error)) this.#survived('stream', error);
      else this.#end(error);
    });
  }

  /** Failures that the process has survived. */
  get strays(): Readonly<Record<StrayKind, number>> {
    return this.#strays;
  }

  /** From now on failures are told there; `flush` writes what waits before the process ends. */
  reportTo(log: Logger, flush: () => void): void {
    this.#log = log;
    this.#flush = flush;
  }

  #survived(kind: StrayKind, reason: unknown): void {
    this.#strays[kind] += 1;
    this.#log?.error({ err: reason, kind, stack: stackOf(reason) }, 'A failure that nothing handled; the rest goes on');
  }

  #end(error: unknown): void {
    this.#log?.fatal({ err: error, stack: stackOf(error) }, 'An exception that nothing caught; ending at once');
    this.#flush();
    this.#process.exit(1);
  }
}

function stackOf(reason: unknown): string | undefined {
  return reason instanceof Error ? reason.stack : undefined;
}
