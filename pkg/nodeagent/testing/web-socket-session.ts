/** The client's side of WebSocket sessions, for tests. */
import { createWebSocketStream, WebSocket } from 'ws';
import { SpdySession } from '#daemon/streaming/spdy/session.js';

/** Collects a session's channels (number → text) until it closes; rejects if the upgrade fails. */
export function webSocketSession(
  url: string,
  onOpen: (socket: WebSocket) => void = () => undefined,
  protocol = 'v5.channel.k8s.io',
): Promise<Record<number, string>> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, [protocol], { rejectUnauthorized: false });
    const channels: Record<number, string> = {};
    socket.on('open', () => onOpen(socket));
    socket.on('message', (data: Buffer) => {
      const number = data[0] ?? -1;
      channels[number] = (channels[number] ?? '') + data.subarray(1).toString();
    });
    socket.on('close', () => resolve(channels));
    socket.on('error', reject);
  });
}

/** Collects a session's messages until it closes; rejects if the upgrade fails. */
export function webSocketMessages(
  url: string,
  protocols: readonly string[],
  onOpen: (socket: WebSocket) => void = () => undefined,
): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, [...protocols], { rejectUnauthorized: false });
    const messages: Buffer[] = [];
    socket.on('open', () => onOpen(socket));
    socket.on('message', (data: Buffer) => messages.push(data));
    socket.on('close', () => resolve(messages));
    socket.on('error', reject);
  });
}

/** A port-forward session. `ws` rejects protocol names with a slash, so the header is set directly. */
export async function openPortForward(
  url: string,
): Promise<{ socket: WebSocket; spdy: SpdySession; protocol: string }> {
  const protocol = 'SPDY/3.1+portforward.k8s.io';
  let answered = '';
  const socket = new WebSocket(url, [], {
    rejectUnauthorized: false,
    finishRequest: (request) => {
      request.setHeader('Sec-WebSocket-Protocol', protocol);
      request.prependListener('upgrade', (response) => {
        answered = String(response.headers['sec-websocket-protocol']);
        delete response.headers['sec-websocket-protocol'];
      });
      request.end();
    },
  });
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  return { socket, spdy: new SpdySession(createWebSocketStream(socket), 'client'), protocol: answered };
}
