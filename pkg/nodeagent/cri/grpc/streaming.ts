/**
 * Sessions over the runtime's streaming server: exec, attach and port-forward calls answer with a URL that is to be
 * upgraded to SPDY/3.1. Its WebSocket form cannot pass on the end of standard input, so SPDY it is.
 */
import { request } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  channelProtocol,
  portForwardProtocol,
  protocolVersionHeader,
  spdyUpgrade,
} from '#daemon/streaming/protocols.js';
import { SpdySession, type SpdyStream } from '#daemon/streaming/spdy/session.js';
import type { SessionStreams } from '#nodeagent/cri/cri.js';
import { CRIError } from '#nodeagent/cri/errors.js';
import { ReadingSocket } from '#nodeagent/cri/grpc/reading-socket.js';

/** Answers of the runtime's server that are no upgrade are short messages. */
const maxAnswerBytes = 16 * 1024;
const inputStepBytes = 32 * 1024;

function upgrade(url: string, protocol: string, signal?: AbortSignal): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const call = request(url, {
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

/** The raw connection of a port-forward session. */
export function connectPortForward(url: string): Promise<Duplex> {
  return upgrade(url, portForwardProtocol);
}

async function readAll(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

interface ExitStatus {
  status?: string;
  reason?: string;
  message?: string;
  details?: { causes?: { reason?: string; message?: string }[] };
}

/** Exit code in a session's final status; throws CRIError when the session itself failed. */
export function exitCodeOf(text: string): number {
  if (text === '') return 0;
  const status = parseStatus(text);
  if (status.status === 'Success') return 0;
  const code = status.details?.causes?.find((cause) => cause.reason === 'ExitCode')?.message;
  if (status.reason === 'NonZeroExitCode' && code !== undefined) return Number(code);
  throw new CRIError('Unknown', status.message ?? 'the session failed');
}

function parseStatus(text: string): ExitStatus {
  try {
    const status: unknown = JSON.parse(text);
    if (typeof status === 'object' && status !== null) return status;
  } catch {
    // Said below.
  }
  throw new CRIError('Unknown', `the runtime ended the session with ${JSON.stringify(text.slice(0, 200))}`);
}

/** What ended a session before its time, in the terms of the CRI. */
function sessionFailure(error: unknown, signal: AbortSignal | undefined): CRIError {
  if (error instanceof CRIError) return error;
  if (signal?.aborted) return new CRIError('Cancelled', 'the session was ended', { cause: error });
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'ERR_STREAM_PREMATURE_CLOSE'
    ? new CRIError('Unavailable', 'the connection to the runtime broke off', { cause: error })
    : new CRIError('Unknown', message, { cause: error });
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
    return exitCodeOf(await carry(session, streams));
  } catch (error) {
    throw sessionFailure(error, signal);
  } finally {
    signal?.removeEventListener('abort', abort);
    abort();
  }
}

/** The text of the session's final status, once all output has been passed on. Rejects when either breaks off. */
async function carry(session: SpdySession, streams: SessionStreams): Promise<string> {
  const open = (streamtype: string) => session.open({ streamtype });
  // Each is watched from the moment it begins: a connection that breaks off ends them all at once.
  const [text] = await Promise.all([readAll(open('error')), ...pipes(open, streams, session)]);
  return text;
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
