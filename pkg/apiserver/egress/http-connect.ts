/** Proxies that speak HTTP CONNECT, with 1.24's texts (apiserver/pkg/server/egressselector/egress_selector.go). */
import { connect, isIP, type NetConnectOpts, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { messageOf } from '#apimachinery/errors/message.js';
import { hostPort } from '#apimachinery/net/host-port.js';
import type { Connector } from '#apiserver/egress/connector.js';
import type { DialTarget } from '#http/client/dial.js';
import { readUntil } from '#http/client/proxy-tunnel.js';

/** Limit of a proxy's response head. */
const maxHeadBytes = 16 * 1024;

/** A proxy that listens on a Unix socket. */
export function socketProxy(path: string): Connector {
  return {
    protocol: 'http_connect',
    transport: 'uds',
    async connect(signal) {
      const socket = await opened(connectRaw({ path }, signal), 'connect');
      return (target) => throughProxy(socket, path, target);
    },
  };
}

export interface TcpProxy {
  readonly url: URL;
  /** Absent: without TLS. */
  readonly context?: SecureContext | undefined;
}

/** A proxy that listens on a port. */
export function tcpProxy({ url, context }: TcpProxy): Connector {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port) || (context === undefined ? 80 : 443);
  const address = hostPort(host, port);
  return {
    protocol: 'http_connect',
    transport: 'tcp',
    async connect(signal) {
      let socket = await opened(connectRaw({ host, port }, signal), 'connect');
      if (context !== undefined) {
        const servername = isIP(host) === 0 ? { servername: host } : {};
        socket = await opened(connectTls({ socket, host, secureContext: context, ...servername }), 'secureConnect');
      }
      return (target) => throughProxy(socket, address, target);
    },
  };
}

function connectRaw(where: NetConnectOpts, signal: AbortSignal): Socket {
  return connect({ ...where, signal, noDelay: true, keepAlive: true });
}

function opened<S extends Socket>(socket: S, event: 'connect' | 'secureConnect'): Promise<S> {
  // Between two owners the socket has no listener; the next owner sees that it is closed.
  socket.on('error', () => undefined);
  return new Promise((resolve, reject) => {
    const closed = () => reject(new Error('the proxy closed the connection'));
    socket.once('error', reject).once('close', closed);
    socket.once(event, () => {
      socket.off('error', reject).off('close', closed);
      resolve(socket);
    });
  });
}

async function throughProxy(socket: Socket, proxy: string, { host, port }: DialTarget): Promise<Duplex> {
  const address = hostPort(host, port);
  socket.write(`CONNECT ${address} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
  try {
    const line = await statusLine(socket).catch((error: unknown) => {
      const text = `reading HTTP response from CONNECT to ${address} via proxy ${proxy} failed`;
      throw new Error(`${text}: ${messageOf(error)}`, { cause: error });
    });
    const [, code = '', reason = ''] = /^HTTP\/1\.\d (\d{3}) ?(.*)$/.exec(line) ?? [];
    if (code !== '200') {
      throw new Error(`proxy error from ${proxy} while dialing ${address}, code ${code}: ${code} ${reason}`);
    }
    // The target's protocol is one in which the client speaks first.
    if (socket.readableLength > 0) {
      const count = socket.readableLength;
      throw new Error(`unexpected ${count} bytes of buffered data from CONNECT proxy ${JSON.stringify(proxy)}`);
    }
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** The first line of the response, whose head is consumed. */
async function statusLine(socket: Socket): Promise<string> {
  const head = await readUntil(socket, (bytes) => {
    const end = bytes.indexOf('\r\n\r\n');
    if (end >= 0) return end + 4;
    if (bytes.length > maxHeadBytes) throw new Error('the response has no end');
    return undefined;
  });
  const line = head.toString('latin1').split('\r\n', 1)[0] ?? '';
  if (!/^HTTP\/1\.\d \d{3}( |$)/.test(line)) throw new Error(`malformed HTTP response ${JSON.stringify(line)}`);
  return line;
}
