/**
 * Sessions over the runtime's streaming server: exec, attach and port-forward calls answer with a URL that is to be
 * upgraded to SPDY/3.1. Its WebSocket form cannot pass on the end of standard input, so SPDY it is.
 */
import { request } from 'node:http';
import type { Duplex } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import type { SessionStreams } from '#nodeagent/cri/cri.js';
import { CRIError } from '#nodeagent/cri/errors.js';
import { SpdySession } from '#nodeagent/streaming/spdy/session.js';

/** Names of the streaming protocols; the runtime's own, not this product's. */
const remoteCommandProtocol = 'v4.channel.k8s.io';
const portForwardProtocol = 'portforward.k8s.io';
/** Answers of the runtime's server that are no upgrade are short messages. */
const maxAnswerBytes = 16 * 1024;

function upgrade(url: string, protocol: string, signal?: AbortSignal): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const call = request(url, {
      method: 'POST',
      agent: false,
      ...(signal === undefined ? {} : { signal }),
      headers: { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': protocol },
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
      response.on('end', () =>
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
  const status = JSON.parse(text) as ExitStatus;
  if (status.status === 'Success') return 0;
  const code = status.details?.causes?.find((cause) => cause.reason === 'ExitCode')?.message;
  if (status.reason === 'NonZeroExitCode' && code !== undefined) return Number(code);
  throw new CRIError('Unknown', status.message ?? 'the session failed');
}

/** Runs one exec or attach session to its end; the exit code where the runtime tells one, else 0. */
export async function runSession(url: string, streams: SessionStreams): Promise<number> {
  const connection = await upgrade(url, remoteCommandProtocol, streams.signal);
  const session = new SpdySession(connection, 'client');
  const abort = () => session.close();
  streams.signal?.addEventListener('abort', abort, { once: true });
  try {
    const open = (streamtype: string) => session.open({ streamtype });
    const error = open('error');
    const status = readAll(error);
    const outputs: Promise<unknown>[] = [];
    if (streams.stdin !== undefined) {
      // A process that ends before its input does resets the stream: that is no failure of the session.
      pipeline(streams.stdin, open('stdin')).catch(() => undefined);
    }
    if (streams.stdout !== undefined) {
      const stdout = open('stdout');
      stdout.pipe(streams.stdout, { end: false });
      outputs.push(finished(stdout, { writable: false }));
    }
    if (streams.stderr !== undefined && !streams.tty) {
      const stderr = open('stderr');
      stderr.pipe(streams.stderr, { end: false });
      outputs.push(finished(stderr, { writable: false }));
    }
    if (streams.tty) {
      const resize = open('resize');
      streams.onResizable?.((size) => {
        if (resize.writable) resize.write(JSON.stringify({ Width: size.width, Height: size.height }));
      });
    }
    const text = await status;
    await Promise.allSettled(outputs);
    if (streams.signal?.aborted) throw new CRIError('Cancelled', 'the session was ended');
    return exitCodeOf(text);
  } finally {
    streams.signal?.removeEventListener('abort', abort);
    session.close();
  }
}
