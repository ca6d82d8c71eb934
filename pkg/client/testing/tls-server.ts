/** Servers for connection tests, with certificates of their own authority, on loopback ports. */
import { once } from 'node:events';
import { createSecureServer, type Http2SecureServer, type SecureServerOptions } from 'node:http2';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import type { TlsMaterial } from '#http/client/credentials.js';
import { createAuthority, issueCertificate, type KeyCertificate } from '#pki/certificate.js';

export interface TestAuthority {
  readonly certificate: string;
  /** Certificate of a server on 127.0.0.1. */
  readonly serving: { readonly cert: string; readonly key: string };
  /** Certificate of a client with that name. */
  client(name: string): Promise<TlsMaterial>;
}

export async function testAuthority(): Promise<TestAuthority> {
  const now = realClock.now();
  const authority = await createAuthority({ commonName: 'ca', now });
  const issue = (commonName: string, usage: 'server' | 'client'): Promise<KeyCertificate> =>
    issueCertificate(authority, {
      subject: { commonName, organizations: [] },
      usages: [usage],
      ...(usage === 'server' ? { ips: ['127.0.0.1'], names: ['api.test'] } : {}),
      now,
    });
  const serving = await issue('server', 'server');
  return {
    certificate: authority.certificate,
    serving: { cert: serving.certificate, key: serving.privateKey },
    async client(name) {
      const issued = await issue(name, 'client');
      return { ca: authority.certificate, cert: issued.certificate, key: issued.privateKey };
    },
  };
}

/** Listens until the end of the test, which closes the server and its connections. */
export async function listening(t: Test, server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A server for HTTP/2 and HTTP/1.1. */
export async function http2Server(
  t: Test,
  authority: TestAuthority,
  options: SecureServerOptions = {},
): Promise<{ server: Http2SecureServer; port: number; url: string }> {
  const server = createSecureServer({ allowHTTP1: true, ...authority.serving, ...options });
  const port = await listening(t, server as unknown as Server);
  return { server, port, url: `https://127.0.0.1:${port}` };
}
