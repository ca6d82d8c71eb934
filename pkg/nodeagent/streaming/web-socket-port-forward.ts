/**
 * Port-forward over WebSocket as in release 1.24: the ports are in the request; port i has the channels 2i (data) and
 * 2i+1 (errors), each beginning with the port as two little-endian bytes. There is one connection per port.
 */
import type { Duplex } from 'node:stream';
import { finished } from 'node:stream';
import type { WebSocket } from 'ws';
import { badRequest } from '#apimachinery/errors/status.js';
import { channelProtocol } from '#daemon/streaming/protocols.js';
import { SpdySession, type SpdyStream } from '#daemon/streaming/spdy/session.js';
import type { SessionConnection } from '#nodeagent/streaming/session-connection.js';
import { WebSocketChannels } from '#nodeagent/streaming/web-socket-channels.js';

/** Limit because channel numbers are one byte. */
const maxPorts = 127;

/** The ports in a request's query. Throws 400. */
export function forwardedPorts(query: URLSearchParams): number[] {
  const texts = query.getAll('port');
  if (texts.length === 0) throw badRequest('query parameter "port" is required');
  const ports = texts.flatMap((text) => {
    if (text === '') throw badRequest('query parameter "port" cannot be empty');
    return text.split(',').map((part) => {
      const port = Number(part);
      if (!/^\d+$/.test(part) || port > 65_535) throw badRequest(`unable to parse ${JSON.stringify(text)} as a port`);
      if (port < 1) throw badRequest(`port ${JSON.stringify(text)} must be > 0`);
      return port;
    });
  });
  if (ports.length > maxPorts) throw badRequest(`at most ${maxPorts} ports can be forwarded over one WebSocket`);
  return ports;
}

/** Connects the channels with the ports until all connections to them, or the client's, are closed. */
export function forwardChannels(
  connection: SessionConnection,
  socket: WebSocket,
  runtime: Duplex,
  { ports, protocol }: { readonly ports: readonly number[]; readonly protocol: string },
): void {
  const session = new SpdySession(runtime, 'client');
  const data: SpdyStream[] = [];
  const channels = new WebSocketChannels(socket, {
    base64: protocol === channelProtocol.v4Base64,
    onData: connection.touch,
    onMessage(number, payload) {
      const stream = number % 2 === 0 ? data[number / 2] : undefined;
      if (stream !== undefined) channels.deliver(payload, stream);
    },
  });
  connection.keepAsking(() => socket.ping());
  socket.once('close', () => {
    session.close();
    runtime.destroy();
  });
  session.once('close', () => {
    socket.close(1000);
    connection.linger();
  });
  let open = ports.length;
  for (const [i, port] of ports.entries()) {
    const name = Buffer.alloc(2);
    name.writeUInt16LE(port);
    channels.send(2 * i, name);
    channels.send(2 * i + 1, name);
    const headers = { port: String(port), requestid: String(i) };
    const errors = session.open({ ...headers, streamtype: 'error' });
    errors.end();
    errors.on('data', (chunk: Buffer) => channels.send(2 * i + 1, chunk));
    const stream = session.open({ ...headers, streamtype: 'data' });
    data.push(stream);
    const writer = channels.writer(2 * i);
    stream.pipe(writer);
    // Send the port's last data and its connection error before closing.
    let endsLeft = 2;
    const over = () => {
      endsLeft -= 1;
      if (endsLeft > 0) return;
      stream.destroy();
      open -= 1;
      if (open === 0) session.close();
    };
    finished(errors, { writable: false }, over);
    finished(stream, { writable: false }, () => writer.end(over));
  }
}
