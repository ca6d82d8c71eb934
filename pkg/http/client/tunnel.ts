/** A way through an HTTP proxy (the CONNECT method, RFC 9110 section 9.3.6). */
import type { Socket } from 'node:net';
import { hostPort } from '#apimachinery/net/host-port.js';
import { readUntil } from '#http/client/read-exactly.js';
import { TransportError } from '#http/client/transport-error.js';

/** A proxy that says more than this says nothing useful. */
const maxHeadBytes = 16 * 1024;

/** Resolves when bytes of `socket` reach the target. Rejects with TransportError when the proxy refuses. */
export async function tunnel(socket: Socket, proxy: URL, target: { host: string; port: number }): Promise<void> {
  const name = hostPort(target.host, target.port);
  const credentials = proxyAuthorization(proxy);
  const lines = [`CONNECT ${name} HTTP/1.1`, `Host: ${name}`];
  if (credentials !== undefined) lines.push(`Proxy-Authorization: ${credentials}`);
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  const head = await readUntil(socket, (bytes) => {
    const end = bytes.indexOf('\r\n\r\n');
    if (end >= 0) return end + 4;
    if (bytes.length > maxHeadBytes) throw new TransportError('Protocol', `bad answer from the proxy ${proxy.host}`);
    return undefined;
  });
  const line = head.toString('latin1').split('\r\n', 1)[0] ?? '';
  if (!/^HTTP\/1\.\d 2\d\d/.test(line)) {
    throw new TransportError('ConnectionRefused', `the proxy ${proxy.host} refuses ${name}: ${line}`);
  }
}

/** The value of Proxy-Authorization for a proxy whose address names a user. */
export function proxyAuthorization(proxy: URL): string | undefined {
  if (proxy.username === '' && proxy.password === '') return undefined;
  const pair = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}
