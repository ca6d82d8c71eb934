/** The client's side of sessions, for tests. */
import { createWebSocketStream, WebSocket } from 'ws';
import { SpdySession } from '#daemon/streaming/spdy/session.js';

/** Collects a session's channels (number → text) until it closes; rejects when it is refused. */
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

/** A session's messages as they came, until it closes; rejects when it is refused. */
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

/** A port-forward session; the library takes no slash in a protocol's name, so the header is set by hand. */
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
