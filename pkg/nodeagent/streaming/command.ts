/** Exec and attach, independent of their transport. */

import type { Readable, Writable } from 'node:stream';
import { messageOf } from '#apimachinery/errors/message.js';
import { badRequest, internalError, type Status } from '#apimachinery/errors/status.js';
import type { SessionStreams, TerminalSize } from '#nodeagent/cri/cri.js';

export interface RequestedStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** The streams in a request's query, by the node agent's names or the API's. Throws 400 if there are none. */
export function requestedStreams(query: URLSearchParams): RequestedStreams {
  const has = (...names: string[]) => names.some((name) => ['1', 'true'].includes(query.get(name) ?? ''));
  const tty = has('tty');
  const streams = {
    stdin: has('input', 'stdin'),
    stdout: has('output', 'stdout'),
    // A terminal has a single output.
    stderr: has('error', 'stderr') && !tty,
    tty,
  };
  if (!streams.stdin && !streams.stdout && !streams.stderr) {
    throw badRequest('you must specify at least 1 of stdin, stdout, stderr');
  }
  return streams;
}

/** The final status of a session, as in the error stream of version 4 and later. */
function exitStatus(exitCode: number): Status {
  if (exitCode === 0) return { metadata: {}, status: 'Success' };
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    reason: 'NonZeroExitCode' as NonNullable<Status['reason']>,
    details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
  };
}

function failureStatus(kind: 'exec' | 'attach', error: unknown): Status {
  const message = messageOf(error);
  const doing = kind === 'exec' ? 'executing command in' : 'attaching to';
  const {
    kind: _,
    apiVersion: __,
    ...status
  } = internalError(new Error(`error ${doing} container: ${message}`)).status;
  return status;
}

/** Content of the error stream: JSON since version 4, before that only a failure's message. */
export function statusText(status: Status, json: boolean): string {
  if (json) return JSON.stringify(status);
  return status.status === 'Success' ? '' : (status.message ?? '');
}

/** Parses a terminal size; undefined if invalid. */
export function parseSize(bytes: Buffer | string): TerminalSize | undefined {
  try {
    const { Width: width, Height: height } = JSON.parse(bytes.toString()) as { Width?: unknown; Height?: unknown };
    return isSize(width) && isSize(height) ? { width, height } : undefined;
  } catch {
    return undefined;
  }
}

/** 16 bits, as in the kernel's `winsize`. */
function isSize(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xffff;
}

/** Keeps the last size until a listener is set. */
export class Resizing {
  #last: TerminalSize | undefined;
  #change: ((size: TerminalSize) => void) | undefined;

  set(size: TerminalSize | undefined): void {
    if (size === undefined) return;
    this.#last = size;
    this.#change?.(size);
  }

  listen(change: (size: TerminalSize) => void): void {
    this.#change = change;
    if (this.#last !== undefined) change(this.#last);
  }
}

/** The client's side of one exec or attach session. */
export interface CommandConnection {
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  readonly stderr?: Writable;
  readonly resizing: Resizing;
  /** Aborted when the client disconnects. */
  readonly disconnected: AbortSignal;
  /** Sends the final status, then closes the connection. */
  finish(status: Status): void;
}

export interface CommandSession {
  readonly kind: 'exec' | 'attach';
  readonly connection: CommandConnection;
  readonly tty: boolean;
  /** Ends the session from the server's side. */
  readonly signal: AbortSignal;
  /** Runs it; resolves with the exit code. */
  readonly run: (streams: SessionStreams) => Promise<number>;
}

/** Serves one session to its end. Never rejects: failures go to the error stream. */
export async function serveCommand({ kind, connection, tty, signal, run }: CommandSession): Promise<void> {
  const { stdin, stdout, stderr, resizing, disconnected: gone } = connection;
  let status: Status;
  try {
    const exitCode = await run({
      tty,
      signal: AbortSignal.any([gone, signal]),
      ...(stdin === undefined ? {} : { stdin }),
      ...(stdout === undefined ? {} : { stdout }),
      ...(stderr === undefined ? {} : { stderr }),
      onResizable: (change) => resizing.listen(change),
    });
    status = exitStatus(exitCode);
  } catch (error) {
    status = failureStatus(kind, error);
  }
  // Send all output before the status, at the client's pace.
  await Promise.all([stdout, stderr].map(ended));
  connection.finish(status);
}

/** Resolves once all data is sent, or cannot be sent any more. */
function ended(stream: Writable | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (stream === undefined || stream.destroyed) return resolve();
    stream.once('close', resolve);
    stream.end(() => resolve());
  });
}
