/**
 * Sessions over the runtime's streaming server: exec, attach and port-forward calls return a URL to upgrade to
 * SPDY/3.1. The runtime's WebSocket form cannot signal the end of standard input, so SPDY is used.
 */

import { request } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { messageOf } from '#apimachinery/errors/message.js';
import {
  channelProtocol,
  portForwardProtocol,
  protocolVersionHeader,
  spdyUpgrade,
} from '#daemon/streaming/protocols.js';
import { SpdySession, type SpdyStream } from '#daemon/streaming/spdy/session.js';
import type { SessionStreams } from '#nodeagent/cri/cri.js';
import { CRIError } from '#nodeagent/cri/errors.js';

type Done = (error?: Error | null) => void;

/**
 * A socket that is read to its end even after writes fail. A peer that closes with unread bytes resets the connection;
 * the kernel keeps received data until it is read, but Node.js closes the socket at the first failed write and drops
 * that data. This socket ignores failed writes, so the reader gets all data before the end or the failure.
 */
export class ReadingSocket extends Socket {
  override _write(chunk: Buffer, encoding: BufferEncoding, done: Done): void {
    super._write(chunk, encoding, () => done());
  }

  override _writev(chunks: { chunk: Buffer; encoding: BufferEncoding }[], done: Done): void {
    super._writev?.(chunks, () => done());
  }
}

/** Limit of responses without an upgrade, and of session statuses. */
const maxAnswerBytes = 16 * 1024;
const inputStepBytes = 32 * 1024;

function upgrade(url: string, protocol: string, signal?: AbortSignal): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const call = request(sessionURL(url), {
      method: 'POST',
      createConnection: ({ host, port }) => new ReadingSocket().connect(Number(port), host ?? ''),
      ...(signal === undefined ? {} : { signal }),
      headers: { Connection: 'Upgrade', Upgrade: spdyUpgrade, [protocolVersionHeader]: protocol },
    });
    call.on('upgrade', (_response, socket, head) => {
      if (head.length > 0) socket.unshift(head);
      socket.setNoDelay(true);
      resolve(socket);
    });
    call.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        if (text.length < maxAnswerBytes) text += chunk;
      });
      // Also runs if the response breaks off.
      response.on('close', () =>
        reject(new CRIError('Unknown', `streaming server answered ${response.statusCode}: ${text.trim()}`)),
      );
    });
    call.on('error', (error) =>
      reject(new CRIError('Unavailable', `streaming server: ${error.message}`, { cause: error })),
    );
    call.end();
  });
}

/** Throws CRIError if the session's URL is no HTTP URL. */
function sessionURL(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:') return url;
  throw new CRIError('Unknown', `the runtime returned an invalid session URL: ${JSON.stringify(text.slice(0, 200))}`);
}

/** The raw connection of a port-forward session. */
export function connectPortForward(url: string): Promise<Duplex> {
  return upgrade(url, portForwardProtocol);
}

interface ReadResult {
  readonly text: string;
  /** The error that cut the text off. */
  readonly failure?: unknown;
}

/** Reads a stream to its end or failure, up to a limit. Never rejects. */
async function readAll(stream: AsyncIterable<Buffer>): Promise<ReadResult> {
  const chunks: Buffer[] = [];
  let length = 0;
  const text = () => Buffer.concat(chunks).toString();
  try {
    for await (const chunk of stream) {
      if (length < maxAnswerBytes) chunks.push(chunk);
      length += chunk.length;
    }
  } catch (failure) {
    return { text: text(), failure };
  }
  return { text: text() };
}

interface ExitStatus {
  status?: string;
  reason?: string;
  message?: string;
  details?: { causes?: { reason?: string; message?: string }[] };
}

/** Exit code in a session's final status; throws CRIError if the session failed, or the status is missing. */
export function exitCodeOf(text: string): number {
  const status = parseStatus(text);
  if (status.status === 'Success') return 0;
  const code = status.details?.causes?.find((cause) => cause.reason === 'ExitCode')?.message;
  if (status.reason === 'NonZeroExitCode' && /^\d{1,10}$/.test(code ?? '')) return Number(code);
  throw new CRIError('Unknown', status.message ?? 'the session failed');
}

function parseStatus(text: string): ExitStatus {
  if (text === '') throw new CRIError('Unknown', 'the runtime ended the session without a status');
  const status = jsonObject(text);
  if (status !== undefined) return status;
  throw new CRIError('Unknown', `the runtime ended the session with ${JSON.stringify(text.slice(0, 200))}`);
}

function jsonObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function isConnectionLost(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';
}

/** Translates the failure of a session to CRIError. */
function sessionFailure(error: unknown, signal: AbortSignal | undefined): CRIError {
  if (error instanceof CRIError) return error;
  if (signal?.aborted) return new CRIError('Cancelled', 'the session was ended', { cause: error });
  return isConnectionLost(error)
    ? new CRIError('Unavailable', 'the connection to the runtime broke off', { cause: error })
    : new CRIError('Unknown', messageOf(error), { cause: error });
}

/** Runs an exec or attach session; returns the exit code if the runtime reports one, else 0. Throws CRIError. */
export async function runSession(url: string, streams: SessionStreams): Promise<number> {
  const { signal } = streams;
  const connection = await upgrade(url, channelProtocol.v4, signal);
  const session = new SpdySession(connection, 'client');
  const abort = () => {
    session.close();
    // The peer may never close its side.
    connection.destroy();
  };
  signal?.addEventListener('abort', abort, { once: true });
  try {
    if (signal?.aborted) throw new CRIError('Cancelled', 'the session was ended');
    return await copyStreams(session, streams);
  } catch (error) {
    throw sessionFailure(error, signal);
  } finally {
    signal?.removeEventListener('abort', abort);
    abort();
  }
}

/**
 * Copies all output, then returns the exit code. Runtimes close the connection after the status, sometimes without
 * ending the streams, so later failures are ignored once the status is complete.
 */
async function copyStreams(session: SpdySession, streams: SessionStreams): Promise<number> {
  const open = (streamtype: string) => session.open({ streamtype });
  const status = readAll(open('error'));
  const outputs = pipes(open, streams, session).map((output) =>
    output.catch((failure: unknown) => {
      if (!session.closed || !isConnectionLost(failure)) throw failure;
    }),
  );
  // Handles all of them from the start, since a broken connection ends all at once.
  const [{ text, failure }] = await Promise.all([status, ...outputs]);
  if (failure !== undefined && jsonObject(text) === undefined) throw failure;
  return exitCodeOf(text);
}

/**
 * Copies input. When a process ends early, the runtime closes the connection after its last output. If it has unread
 * input then, the kernel resets the connection and drops output, so input is never more than `inputStepBytes` ahead of
 * the runtime's reads.
 */
async function sendInput(stdin: Readable, stream: SpdyStream, session: SpdySession): Promise<void> {
  const parts = async function* (): AsyncGenerator<Buffer> {
    let ahead = 0;
    for await (const chunk of stdin as AsyncIterable<Buffer>) {
      for (let at = 0; at < chunk.length; at += inputStepBytes) {
        if (ahead >= inputStepBytes) {
          await session.ping();
          ahead = 0;
        }
        const part = chunk.subarray(at, at + inputStepBytes);
        ahead += part.length;
        yield part;
      }
    }
  };
  await pipeline(parts, stream);
}

function pipes(
  open: (streamtype: string) => SpdyStream,
  streams: SessionStreams,
  session: SpdySession,
): Promise<void>[] {
  const outputs: Promise<void>[] = [];
  if (streams.stdin !== undefined) {
    // A process that ends before its input resets the stream; the session has not failed.
    sendInput(streams.stdin, open('stdin'), session).catch(() => undefined);
  }
  if (streams.stdout !== undefined) outputs.push(pipeline(open('stdout'), streams.stdout, { end: false }));
  if (streams.stderr !== undefined && !streams.tty) {
    outputs.push(pipeline(open('stderr'), streams.stderr, { end: false }));
  }
  if (streams.tty) {
    const resize = open('resize');
    streams.onResizable?.((size) => {
      if (resize.writable) resize.write(JSON.stringify({ Width: size.width, Height: size.height }));
    });
  }
  return outputs;
}
