/** A webhook in the test's process: HTTPS with its own CA. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { createAuthority, issueCertificate } from '#pki/certificate.js';

export interface WebhookServer {
  readonly port: number;
  /** PEM in base64, as in a configuration. */
  readonly caBundle: string;
  /** Number of accepted connections. */
  connections(): number;
  /** Number of open connections. */
  open(): number;
  /** Closes all connections at once. */
  cut(): void;
}

/** Handles one request, given its whole body. */
export type Answer = (body: string, response: ServerResponse, request: IncomingMessage) => void;

export interface WebhookServerOptions {
  /** Names in the certificate. */
  readonly names?: readonly string[];
  readonly ips?: readonly string[];
}

/** Closes with the test. */
export async function startWebhook(
  t: Pick<Test, 'teardown'>,
  answer: Answer,
  { names = ['localhost'], ips = ['127.0.0.1'] }: WebhookServerOptions = {},
): Promise<WebhookServer> {
  const now = realClock.now();
  const authority = await createAuthority({ commonName: 'hooks-ca', now });
  const subject = { commonName: 'hooks', organizations: [] };
  const issued = await issueCertificate(authority, { subject, usages: ['server'], names, ips, now });
  const server = createServer({ cert: issued.certificate, key: issued.privateKey }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => answer(Buffer.concat(chunks).toString(), response, request));
  });
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => undefined);
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  await listening(server);
  t.teardown(async () => {
    cut();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    port: (server.address() as AddressInfo).port,
    caBundle: Buffer.from(authority.certificate).toString('base64'),
    connections: () => connections,
    open: () => sockets.size,
    cut,
  };
}

function listening(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
}

export function sendJson(response: ServerResponse, value: unknown, code = 200): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
