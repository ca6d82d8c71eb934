/** A way through a SOCKS 5 proxy (RFC 1928), with a user and password where its address names them (RFC 1929). */
import type { Socket } from 'node:net';
import { addressBytes } from '#apimachinery/net/ip.js';
import { strictFamily } from '#apimachinery/net/parse-ip.js';
import { readExactly } from '#http/client/read-exactly.js';
import { TransportError } from '#http/client/transport-error.js';

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

/** Resolves when bytes of `socket` reach the target, whose name the proxy resolves. Rejects with TransportError. */
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
  // The address that the proxy connects from, of which only the length matters.
  const size = kind === address.ipv4 ? 4 : kind === address.ipv6 ? 16 : ((await readExactly(socket, 1))[0] ?? 0);
  await readExactly(socket, size + 2);
}

function encodeAddress({ host, port }: { host: string; port: number }): Buffer {
  const tail = Buffer.from([port >> 8, port & 0xff]);
  const bytes = strictFamily(host) === 4 ? addressBytes(host) : undefined;
  if (bytes !== undefined) return Buffer.concat([Buffer.from([address.ipv4]), bytes, tail]);
  // An IPv6 address goes as a name: proxies take either.
  const name = Buffer.from(host);
  return Buffer.concat([Buffer.from([address.name, name.length]), name, tail]);
}
