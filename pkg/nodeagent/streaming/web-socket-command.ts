/**
 * Exec and attach over WebSocket: channels 0 standard input, 1 output, 2 error output, 3 the session's status, 4 the
 * terminal's size. In version 5 the message `[255, n]` ends channel n (KEP-4006); earlier versions cannot end it.
 */
import { PassThrough } from 'node:stream';
import type { WebSocket } from 'ws';
import { channelProtocol } from '#daemon/streaming/protocols.js';
import {
  type CommandConnection,
  parseSize,
  type RequestedStreams,
  Resizing,
  statusText,
} from '#nodeagent/streaming/command.js';
import type { SessionConnection } from '#nodeagent/streaming/session-connection.js';
import { WebSocketChannels } from '#nodeagent/streaming/web-socket-channels.js';

const channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;
/** Buffered input above this amount pauses the client. */
const inputBytes = 1024 * 1024;

const { v5, v4, v4Base64, v1Base64 } = channelProtocol;
const withJsonStatus: readonly string[] = [v5, v4, v4Base64];
const withBase64: readonly string[] = [v4Base64, v1Base64];

export function openWebSocketCommand(
  connection: SessionConnection,
  socket: WebSocket,
  requested: RequestedStreams,
  protocol: string,
): CommandConnection {
  const stdin = requested.stdin ? new PassThrough({ highWaterMark: inputBytes }) : undefined;
  const resizing = new Resizing();
  const channels = new WebSocketChannels(socket, {
    base64: withBase64.includes(protocol),
    onData: connection.touch,
    onMessage(number, payload) {
      if (number === channel.stdin && stdin !== undefined) channels.deliver(payload, stdin);
      else if (number === channel.resize) resizing.set(parseSize(payload));
      else if (number === channel.close && protocol === v5 && payload[0] === channel.stdin) stdin?.end();
    },
  });
  connection.keepAsking(() => socket.ping());
  // End the process's input even if the session continues.
  socket.once('close', () => {
    stdin?.end();
    connection.abort();
  });
  // An empty message on the lowest channel tells clients of release 1.24 that the session is open. Newer clients, with
  // protocol 5, do not wait for it; some (client-go 0.29 and 0.30) would read it before they know their channels.
  const lowest = requested.stdout ? channel.stdout : requested.stderr ? channel.stderr : channel.error;
  if (protocol !== v5) channels.send(lowest, Buffer.alloc(0));
  return {
    resizing,
    disconnected: connection.gone,
    ...(stdin === undefined ? {} : { stdin }),
    ...(requested.stdout ? { stdout: channels.writer(channel.stdout) } : {}),
    ...(requested.stderr ? { stderr: channels.writer(channel.stderr) } : {}),
    finish(status) {
      stdin?.destroy();
      const text = statusText(status, withJsonStatus.includes(protocol));
      if (text !== '') channels.send(channel.error, Buffer.from(text));
      socket.close(1000);
      connection.linger();
    },
  };
}
