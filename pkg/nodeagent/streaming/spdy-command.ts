/**
 * Exec and attach over SPDY: the client opens streams for the error (the session's status), for its requested standard
 * input, output and error output, and for terminal sizes (since version 3).
 */
import { TextDecoder } from 'node:util';
import type { Clock } from '#apimachinery/clock.js';
import { channelProtocol } from '#daemon/streaming/protocols.js';
import { SpdySession, type SpdyStream } from '#daemon/streaming/spdy/session.js';
import {
  type CommandConnection,
  parseSize,
  type RequestedStreams,
  Resizing,
  statusText,
} from '#nodeagent/streaming/command.js';
import type { SessionConnection } from '#nodeagent/streaming/session-connection.js';

/** Time for the client to open all its streams. */
export const streamCreationTimeoutMs = 30_000;

type StreamType = 'error' | 'stdin' | 'stdout' | 'stderr' | 'resize';

function expectedStreams(requested: RequestedStreams, protocol: string): Set<StreamType> {
  const types = new Set<StreamType>(['error']);
  for (const type of ['stdin', 'stdout', 'stderr'] as const) if (requested[type]) types.add(type);
  const resizes = protocol === channelProtocol.v4 || protocol === channelProtocol.v3;
  if (requested.tty && resizes) types.add('resize');
  return types;
}

/** Resolves once the client has opened its streams; undefined if it disconnected or timed out. */
export async function openSpdyCommand(
  connection: SessionConnection,
  requested: RequestedStreams,
  protocol: string,
  clock: Clock,
): Promise<CommandConnection | undefined> {
  const missing = expectedStreams(requested, protocol);
  const streams: Partial<Record<StreamType, SpdyStream>> = {};
  // Rejects unexpected and repeated streams.
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
  // Discard data on output streams, so that it cannot block the connection.
  for (const stream of [error, stdout, stderr]) stream?.resume();
  const resizing = new Resizing();
  if (resize !== undefined) readSizes(resize, resizing);
  return {
    resizing,
    disconnected: connection.gone,
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

/** Sizes are concatenated JSON objects, split at any byte; an object contains no braces. */
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
