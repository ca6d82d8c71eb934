/**
 * Sessions over the runtime's streaming server: exec, attach and port-forward calls answer with a URL that is to be
 * upgraded to SPDY/3.1. Its WebSocket form cannot pass on the end of standard input, so SPDY it is.
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
 * A connection that is read to its end even when nothing can be written to it any more. A peer that closes with unread
 * bytes before it resets the connection; the system keeps what had arrived until it is read, but Node.js closes a socket
 * at the first write that fails, and drops it. Here such writes go nowhere: the reader meets the end, or the failure,
 * behind the peer's last words.
 */
export class ReadingSocket extends Socket {
  override _write(chunk: Buffer, encoding: BufferEncoding, done: Done): void {
    super._write(chunk, encoding, () => done());
  }

  override _writev(chunks: { chunk: Buffer; encoding: BufferEncoding }[], done: Done): void {
    super._writev?.(chunks, () => done());
  }
}

/** Answers of the runtime's server that are no upgrade are short messages. */
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
      // Also when the answer breaks off.
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

/** Where the runtime's own server is. Throws CRIError for what is no such place. */
function sessionURL(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:') return url;
  throw new CRIError('Unknown', `the runtime tells of a session at ${JSON.stringify(text.slice(0, 200))}`);
}

/** The raw connection of a port-forward session. */
export function connectPortForward(url: string): Promise<Duplex> {
  return upgrade(url, portForwardProtocol);
}

interface Read {
  readonly text: string;
  /** Why there may be more that did not come. */
  readonly failure?: unknown;
}

/** What a stream gave until it ended or broke off, or the beginning of that. Never rejects. */
async function readAll(stream: AsyncIterable<Buffer>): Promise<Read> {
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

/** Exit code in a session's final status; throws CRIError when the session itself failed, or there is no status. */
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

function brokeOff(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';
}

/** What ended a session before its time, in the terms of the CRI. */
function sessionFailure(error: unknown, signal: AbortSignal | undefined): CRIError {
  if (error instanceof CRIError) return error;
  if (signal?.aborted) return new CRIError('Cancelled', 'the session was ended', { cause: error });
  return brokeOff(error)
    ? new CRIError('Unavailable', 'the connection to the runtime broke off', { cause: error })
    : new CRIError('Unknown', messageOf(error), { cause: error });
}

/** Runs one exec or attach session to its end; the exit code where the runtime tells one, else 0. Throws CRIError. */
export async function runSession(url: string, streams: SessionStreams): Promise<number> {
  const { signal } = streams;
  const connection = await upgrade(url, channelProtocol.v4, signal);
  const session = new SpdySession(connection, 'client');
  const abort = () => {
    session.close();
    // The peer may never answer the end of the session with its own.
    connection.destroy();
  };
  signal?.addEventListener('abort', abort, { once: true });
  try {
    if (signal?.aborted) throw new CRIError('Cancelled', 'the session was ended');
    return await carry(session, streams);
  } catch (error) {
    throw sessionFailure(error, signal);
  } finally {
    signal?.removeEventListener('abort', abort);
    abort();
  }
}

/**
 * The exit code, once all output has been passed on. The status is a runtime's last word: runtimes close the connection
 * behind it, at times without having ended the streams, so a whole one counts whatever breaks off then.
 */
async function carry(session: SpdySession, streams: SessionStreams): Promise<number> {
  const open = (streamtype: string) => session.open({ streamtype });
  const status = readAll(open('error'));
  const outputs = pipes(open, streams, session).map((output) =>
    output.catch((failure: unknown) => {
      if (!session.closed || !brokeOff(failure)) throw failure;
    }),
  );
  // Each is watched from the moment it begins: a connection that breaks off ends them all at once.
  const [{ text, failure }] = await Promise.all([status, ...outputs]);
  if (failure !== undefined && jsonObject(text) === undefined) throw failure;
  return exitCodeOf(text);
}

/**
 * Passes input on. A process that ends early makes the runtime close the connection behind its last words. Input that it
 * has not read by then makes the system cut off those that have not left, so it is not sent further ahead of the runtime's
 * reading than `inputStepBytes`.
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
    // A process that ends before its input does resets the stream: that is no failure of the session.
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
