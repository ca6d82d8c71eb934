/**
 * Streams of exec and attach over a WebSocket, protocols `v5.channel.k8s.io` and `v4.channel.k8s.io`: the first byte of
 * each binary message is the channel. Version 5 adds a message that closes one channel (no RFC; described in KEP-4006).
 */

import { type ClientOptions, WebSocket } from 'ws';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { type Status, StatusError } from '#apimachinery/errors/status.js';
import type { WebSocketTarget } from '#cmd/orchctl/api/api.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';
import type { Output } from '#cmd/orchctl/terminal/terminal.js';

export interface RemoteStreams {
  readonly stdin: NodeJS.ReadStream | undefined;
  readonly out: Output;
  readonly err: Output;
  readonly tty: boolean;
  readonly onResize: (fn: () => void) => () => void;
  readonly signal: AbortSignal;
}

const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;
const protocols = ['v5', 'v4'].map((version) => `${version}.channel.${kubernetesDialect.apiDomain}`);
/** Reading of input pauses while this much is unsent. */
const highWaterMark = 1024 * 1024;

/** Resolves with the exit code of the remote program. */
export async function runRemote(target: WebSocketTarget, streams: RemoteStreams): Promise<number> {
  const socket = openWebSocket(target, protocols);
  let restore: (() => void) | undefined;
  try {
    await opened(socket);
    restore = forwardInput(socket, streams);
    return await exitCode(socket, streams);
  } finally {
    restore?.();
    socket.close();
  }
}

/** Resolves when the WebSocket is open; rejects with the server's message. */
export function opened(socket: WebSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
    socket.once('unexpected-response', (_request, response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => reject(refusal(response.statusCode, Buffer.concat(parts).toString())));
    });
  });
}

function refusal(code: number | undefined, body: string): Error {
  try {
    const status = JSON.parse(body) as Status;
    if (status.message !== undefined) return new StatusError(status);
  } catch {
    // A plain text body.
  }
  return new CommandError(`the server responded with status ${code}: ${body.trim()}`);
}

function exitCode(socket: WebSocket, { out, err, signal }: RemoteStreams): Promise<number> {
  return new Promise((resolve, reject) => {
    let code: number | undefined;
    socket.on('message', (data) => {
      const message = Buffer.isBuffer(data) ? data : Buffer.concat(data as Buffer[]);
      const body = message.subarray(1);
      if (message[0] === channels.stdout) out.write(body);
      else if (message[0] === channels.stderr) err.write(body);
      else if (message[0] === channels.error && body.length > 0) {
        try {
          code = codeOf(JSON.parse(body.toString('utf8')) as Status);
        } catch (error) {
          reject(error);
        }
      }
    });
    socket.on('error', reject);
    socket.on('close', () => {
      if (code !== undefined) resolve(code);
      else reject(new CommandError('the connection ended before the program did'));
    });
    signal.addEventListener('abort', () => resolve(130), { once: true });
  });
}

function codeOf(status: Status): number {
  if (status.status === 'Success') return 0;
  const cause = status.details?.causes?.find((c) => c.reason === 'ExitCode');
  if (status.reason === 'NonZeroExitCode' && cause?.message !== undefined) return Number(cause.message);
  throw new CommandError(status.message ?? 'cannot run the program');
}

/** Sends input and terminal sizes; returns a function that restores the terminal. */
function forwardInput(socket: WebSocket, { stdin, tty, out, onResize }: RemoteStreams): () => void {
  const undo: (() => void)[] = [];
  if (tty) {
    const sendSize = () => {
      const size = JSON.stringify({ Width: out.columns ?? 80, Height: out.rows ?? 24 });
      socket.send(Buffer.concat([Buffer.from([channels.resize]), Buffer.from(size)]));
    };
    sendSize();
    undo.push(onResize(sendSize));
    stdin?.setRawMode?.(true);
    undo.push(() => stdin?.setRawMode?.(false));
  }
  if (stdin !== undefined) undo.push(pump(socket, stdin));
  return () => {
    for (const action of undo) action();
  };
}

function pump(socket: WebSocket, stdin: NodeJS.ReadStream): () => void {
  const onData = (chunk: Buffer) => {
    socket.send(Buffer.concat([Buffer.from([channels.stdin]), chunk]), () => {
      if (stdin.isPaused() && socket.bufferedAmount < highWaterMark) stdin.resume();
    });
    if (socket.bufferedAmount > highWaterMark) stdin.pause();
  };
  // Only version 5 can signal the end of input.
  const onEnd = () => {
    if (socket.protocol === protocols[0]) socket.send(Buffer.from([channels.close, channels.stdin]));
  };
  stdin.on('data', onData);
  stdin.on('end', onEnd);
  return () => {
    stdin.off('data', onData);
    stdin.off('end', onEnd);
    stdin.pause();
  };
}

/** A connecting WebSocket to the API server for one of `protocols`. */
export function openWebSocket(
  target: WebSocketTarget,
  protocols: string[],
  more: Pick<ClientOptions, 'finishRequest'> = {},
): WebSocket {
  const connection = (_options: object, done: (error: unknown, socket?: unknown) => void): undefined => {
    target.dial().then((socket) => done(null, socket), done);
  };
  return new WebSocket(target.url, protocols, {
    // An array becomes one header per value; the type allows only one value.
    headers: { ...target.headers } as Record<string, string>,
    perMessageDeflate: false,
    ...more,
    // The dialer connects asynchronously; the type allows only a synchronous function.
    createConnection: connection as unknown as NonNullable<ClientOptions['createConnection']>,
  });
}
