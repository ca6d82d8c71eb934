/** HTTP/1.1 responses on sockets that the HTTP server has released. */
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { StatusError } from '#apimachinery/errors/status.js';

export interface RawResponse {
  readonly code: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends the whole response and closes the connection. */
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

/** Confirms the switch of protocols to the client. */
export function switchProtocols(socket: Duplex, headers: Readonly<Record<string, string>>): void {
  socket.write(head(101, { Connection: 'Upgrade', ...headers }));
}

function head(code: number, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? 'Unknown'}\r\n${lines.join('')}\r\n`;
}
