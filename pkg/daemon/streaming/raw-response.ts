/** Plain HTTP/1.1 answers on sockets that are out of the HTTP server's hands. */
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { StatusError } from '#apimachinery/errors/status.js';

export interface RawResponse {
  readonly code: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The whole answer, after which the connection is ended. */
export function endWithResponse(socket: Duplex, { code, contentType, body, headers = {} }: RawResponse): void {
  const all = {
    ...headers,
    'Content-Type': contentType,
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  };
  if (socket.writable) socket.end(`${head(code, all)}${body}`);
}

export function statusResponse({ code, status }: StatusError): RawResponse {
  return { code, contentType: 'application/json', body: JSON.stringify(status) };
}

/** Tells the client that the connection is now what it asked for. */
export function switchProtocols(socket: Duplex, headers: Readonly<Record<string, string>>): void {
  socket.write(head(101, { Connection: 'Upgrade', ...headers }));
}

function head(code: number, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? 'Unknown'}\r\n${lines.join('')}\r\n`;
}
