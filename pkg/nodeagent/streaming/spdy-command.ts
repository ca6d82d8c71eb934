/**
 * Exec and attach over SPDY: the client opens a stream each for the error (the status of the session), what it wants of
 * standard input, output and error output, and the sizes of its terminal (since version 3).
 */
import { TextDecoder } from 'node:util';
import type { Clock } from '#apimachinery/clock.js';
import { channelProtocol } from '#daemon/streaming/protocols.js';
import { SpdySession, type SpdyStream } from '#daemon/streaming/spdy/session.js';
import {
  type CommandConnection,
  parseSize,
  Resizing,
  statusText,
  type WantedStreams,
} from '#nodeagent/streaming/command.js';
import type { SessionConnection } from '#nodeagent/streaming/session-connection.js';

/** Time for the client to open all its streams. */
export const streamCreationTimeoutMs = 30_000;

type StreamType = 'error' | 'stdin' | 'stdout' | 'stderr' | 'resize';

function expected(wanted: WantedStreams, protocol: string): Set<StreamType> {
  const types = new Set<StreamType>(['error']);
  for (const type of ['stdin', 'stdout', 'stderr'] as const) if (wanted[type]) types.add(type);
  const resizes = protocol === channelProtocol.v4 || protocol === channelProtocol.v3;
  if (wanted.tty && resizes) types.add('resize');
  return types;
}

/** Resolves when the client has opened its streams; undefined when it has gone, or has let the time go by. */
export async function openSpdyCommand(
  connection: SessionConnection,
  wanted: WantedStreams,
  protocol: string,
  clock: Clock,
): Promise<CommandConnection | undefined> {
  const missing = expected(wanted, protocol);
  const streams: Partial<Record<StreamType, SpdyStream>> = {};
  // What nobody waits for, or is there already, is refused.
  const admit = (headers: Readonly<Record<string, string>>) => missing.has(headers['streamtype'] as StreamType);
  const session = new SpdySession(connection.socket, 'server', { admit, maxStreams: 8, onData: connection.touch });
  connection.keepAsking(() => void session.ping());
  session.once('close', () => connection.abort());
  const complete = await new Promise<boolean>((resolve) => {
    const timer = clock.setTimer(() => resolve(false), streamCreationTimeoutMs);
    const settle = (all: boolean) => {
      timer.cancel();
      resolve(all);
    };
    session.once('close', () => settle(false));
    session.on('stream', (stream) => {
      const type = stream.headers['streamtype'] as StreamType;
      missing.delete(type);
      streams[type] = stream;
      if (missing.size === 0) settle(true);
    });
  });
  const { error, stdin, stdout, stderr, resize } = streams;
  if (!complete || error === undefined) {
    session.close();
    connection.linger();
    return undefined;
  }
  // Nothing is expected from these; what comes all the same must not hold up the rest.
  for (const stream of [error, stdout, stderr]) stream?.resume();
  const resizing = new Resizing();
  if (resize !== undefined) readSizes(resize, resizing);
  return {
    resizing,
    gone: connection.gone,
    ...(stdin === undefined ? {} : { stdin }),
    ...(stdout === undefined ? {} : { stdout }),
    ...(stderr === undefined ? {} : { stderr }),
    finish(status) {
      const over = () => {
        session.close();
        connection.linger();
      };
      if (error.destroyed) over();
      else error.end(statusText(status, protocol === channelProtocol.v4), over);
    },
  };
}

/** Sizes are JSON objects one after the other, cut anywhere; an object has no braces inside. */
function readSizes(stream: SpdyStream, resizing: Resizing): void {
  const maxText = 1024;
  const decoder = new TextDecoder();
  let text = '';
  stream.on('data', (chunk: Buffer) => {
    text += decoder.decode(chunk, { stream: true });
    const end = text.lastIndexOf('}') + 1;
    if (end > 0) {
      const start = text.lastIndexOf('{', end - 1);
      resizing.set(parseSize(text.slice(Math.max(0, start), end)));
      text = text.slice(end);
    }
    if (text.length > maxText) text = '';
  });
}
