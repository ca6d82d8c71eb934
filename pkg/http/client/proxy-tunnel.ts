/**
 * Connects through proxies: HTTP CONNECT (RFC 9110, 9.3.6), and SOCKS 5 (RFC 1928) with user and password (RFC 1929).
 */
import type { Socket } from 'node:net';
import { hostPort } from '#apimachinery/net/host-port.js';
import { addressBytes } from '#apimachinery/net/ip.js';
import { strictFamily } from '#apimachinery/net/parse-ip.js';
import { TransportError } from '#http/client/transport-error.js';

/** Limit of a proxy's response head. */
const maxHeadBytes = 16 * 1024;

/** Resolves when the socket reaches the target. Rejects with TransportError if the proxy refuses. */
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

/** Value of Proxy-Authorization, if the proxy's address contains a user. */
export function proxyAuthorization(proxy: URL): string | undefined {
  if (proxy.username === '' && proxy.password === '') return undefined;
  const pair = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

/** SOCKS version. */
const version = 5;
const method = { none: 0, password: 2 } as const;
const connectCommand = 1;
const address = { ipv4: 1, name: 3, ipv6: 4 } as const;

const replies: Readonly<Record<number, string>> = {
  1: 'general failure',
  2: 'not allowed',
  3: 'network unreachable',
  4: 'host unreachable',
  5: 'connection refused',
  6: 'time to live expired',
  7: 'command not supported',
  8: 'address type not supported',
};

/** Resolves when the socket reaches the target; the proxy resolves its name. Rejects with TransportError. */
export async function socks5(socket: Socket, proxy: URL, target: { host: string; port: number }): Promise<void> {
  const refuse = (why: string) => new TransportError('ConnectionRefused', `the proxy ${proxy.host}: ${why}`);
  const user = Buffer.from(decodeURIComponent(proxy.username));
  const password = Buffer.from(decodeURIComponent(proxy.password));
  const methods = user.length > 0 ? [method.none, method.password] : [method.none];
  socket.write(Buffer.from([version, methods.length, ...methods]));
  const [chosenVersion, chosen] = await readExactly(socket, 2);
  if (chosenVersion !== version) throw refuse('speaks no SOCKS 5');
  if (chosen === method.password && user.length > 0) {
    socket.write(Buffer.concat([Buffer.from([1, user.length]), user, Buffer.from([password.length]), password]));
    const [, status] = await readExactly(socket, 2);
    if (status !== 0) throw refuse('user or password is wrong');
  } else if (chosen !== method.none) throw refuse('no acceptable way to authenticate');
  socket.write(Buffer.concat([Buffer.from([version, connectCommand, 0]), encodeAddress(target)]));
  const [, reply = 1, , kind] = await readExactly(socket, 4);
  if (reply !== 0) throw refuse(`${target.host}:${target.port}: ${replies[reply] ?? `failure ${reply}`}`);
  // The address that the proxy connects from; only its length matters.
  const size = kind === address.ipv4 ? 4 : kind === address.ipv6 ? 16 : ((await readExactly(socket, 1))[0] ?? 0);
  await readExactly(socket, size + 2);
}

function encodeAddress({ host, port }: { host: string; port: number }): Buffer {
  const tail = Buffer.from([port >> 8, port & 0xff]);
  const bytes = strictFamily(host) === 4 ? addressBytes(host) : undefined;
  if (bytes !== undefined) return Buffer.concat([Buffer.from([address.ipv4]), bytes, tail]);
  // An IPv6 address is sent as a name, which proxies accept.
  const name = Buffer.from(host);
  return Buffer.concat([Buffer.from([address.name, name.length]), name, tail]);
}

/** Reads exactly `size` bytes. Rejects if the connection ends early. */
async function readExactly(socket: Socket, size: number): Promise<Buffer> {
  return readUntil(socket, (bytes) => (bytes.length >= size ? size : undefined));
}

/**
 * Reads until `end` returns the length of the message; later bytes are put back. Rejects if the connection ends or
 * `end` throws.
 */
export function readUntil(socket: Socket, end: (bytes: Buffer) => number | undefined): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    const stop = () => {
      socket.off('readable', read);
      socket.off('error', failed);
      socket.off('end', ended);
      socket.off('close', ended);
    };
    const failed = (error: unknown) => {
      stop();
      reject(error);
    };
    const ended = () => failed(Object.assign(new Error('closed by the proxy'), { code: 'ECONNRESET' }));
    const read = () => {
      const chunk: unknown = socket.read();
      if (!Buffer.isBuffer(chunk)) return;
      bytes = Buffer.concat([bytes, chunk]);
      try {
        const size = end(bytes);
        if (size === undefined) return;
        stop();
        if (bytes.length > size) socket.unshift(bytes.subarray(size));
        resolve(bytes.subarray(0, size));
      } catch (error) {
        failed(error);
      }
    };
    socket.on('readable', read);
    socket.on('error', failed);
    socket.on('end', ended);
    socket.on('close', ended);
    read();
  });
}
