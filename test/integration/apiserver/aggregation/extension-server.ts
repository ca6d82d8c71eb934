/**
 * An extension API server: it trusts only clients with a certificate of the front proxies' authority, and serves a few resources
 * named after their behaviour.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Test } from 'tap';
import { WebSocketServer } from 'ws';
import { behaviours } from '#test/integration/apiserver/aggregation/hostile-extension.js';

export const badDocuments = [
  'hanging',
  'huge',
  'too-many-parts',
  'no-json',
  'deep',
  'another-version',
  'failing',
] as const;
export type BadDocument = (typeof badDocuments)[number];

export interface ExtensionOptions {
  readonly group: string;
  readonly cert: string;
  readonly key: string;
  /** CA bundle (PEM) of front proxies. */
  readonly frontProxyAuthority: string;
  /** May change while the server runs. */
  readonly health?: { status: number };
  /** The fault of its documents; absent: none. */
  readonly documents?: BadDocument;
}

export interface Extension {
  readonly port: number;
  readonly server: Server;
  /** Requests in progress, by path. */
  readonly open: Map<string, number>;
  /** Bytes written by `huge`. */
  sent: number;
  /** Requests whose bodies are not read. */
  readonly deaf: IncomingMessage[];
  /** Requested paths, in order. */
  readonly requestedPaths: string[];
}

export async function startExtension(t: Test, options: ExtensionOptions): Promise<Extension> {
  const { group, cert, key, frontProxyAuthority, health = { status: 200 }, documents } = options;
  const root = `/apis/${group}/v1`;
  const open = new Map<string, number>();
  const requestedPaths: string[] = [];
  const server = createServer({ cert, key, ca: frontProxyAuthority, requestCert: true, rejectUnauthorized: true });
  server.keepAliveTimeout = 0;
  const extension: { -readonly [K in keyof Extension]: Extension[K] } = {
    port: 0,
    server,
    open,
    sent: 0,
    requestedPaths,
    deaf: [],
  };
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const path = (request.url ?? '').split('?')[0] ?? '';
    requestedPaths.push(`${request.method} ${request.url}`);
    open.set(path, (open.get(path) ?? 0) + 1);
    response.on('close', () => open.set(path, (open.get(path) ?? 1) - 1));
    if (path === root) return json(response, health.status, resourceList(group));
    if (path === '/openapi/v2') {
      return documents === undefined ? openApiV2(response, group) : sendBad(documents, response, group);
    }
    if (path === '/openapi/v3') {
      const paths = { [`apis/${group}/v1`]: { serverRelativeURL: `/openapi/v3/apis/${group}/v1?hash=A1` } };
      return json(response, 200, { paths });
    }
    if (path === `/openapi/v3/apis/${group}/v1`)
      return json(response, 200, { openapi: '3.0.0', info: { title: group } });
    void serve(path.slice(root.length + 1), request, response, extension);
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request, socket, head) => {
    if (request.headers.upgrade?.toLowerCase() === 'websocket') {
      sockets.handleUpgrade(request, socket, head, (peer) => {
        peer.on('message', (data) => peer.send(`${String(request.headers['x-remote-user'])}: ${String(data)}`));
      });
      return;
    }
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\n\r\n');
    socket.pipe(socket);
  });
  const all = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    all.add(socket);
    socket.on('close', () => all.delete(socket));
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of all) socket.destroy();
    server.close();
  });
  extension.port = (server.address() as AddressInfo).port;
  return extension;
}

async function serve(name: string, request: IncomingMessage, response: ServerResponse, extension: Extension) {
  switch (name.split('/')[0]) {
    case 'huge':
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      await endless(response, extension);
      return;
    case 'mirror':
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      response.flushHeaders();
      request.pipe(response);
      return;
    case 'deaf':
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      response.flushHeaders();
      extension.deaf.push(request);
      return;
    case 'refusing':
      response.writeHead(413, { 'content-type': 'text/plain' }).end('too much');
      return;
    case 'watched':
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"type":"ADDED"}\n');
      return;
    default: {
      const [behave] = behaviours[name] ?? [];
      return behave === undefined ? echo(request, response) : behave(request, response);
    }
  }
}

/** Writes as long as the client reads. */
async function endless(response: ServerResponse, extension: Extension): Promise<void> {
  const part = Buffer.alloc(64 * 1024, 'x');
  const more = () => {
    let room = true;
    while (room && !response.destroyed) {
      extension.sent += part.length;
      room = response.write(part);
    }
  };
  response.on('drain', more);
  more();
  await once(response, 'close');
}

async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let bytes = 0;
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes < 10_000) parts.push(part);
  }
  json(response, 200, {
    method: request.method,
    url: request.url,
    headers: request.headers,
    raw: request.rawHeaders,
    certificate: (request.socket as TLSSocket).getPeerCertificate().subject?.CN,
    bytes,
    body: Buffer.concat(parts).toString(),
  });
}

function resourceList(group: string) {
  const verbs = ['get', 'list', 'watch', 'create'];
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: `${group}/v1`,
    resources: [{ name: 'echoes', singularName: '', namespaced: false, kind: 'Echo', verbs }],
  };
}

function sendBad(bad: BadDocument, response: ServerResponse, group: string): void {
  const send = (text: string) => void response.writeHead(200, { 'content-type': 'application/json' }).end(text);
  const path = JSON.stringify(`/apis/${group}/v1`);
  switch (bad) {
    case 'hanging':
      return;
    case 'huge':
      return send(`"${'x'.repeat(5 * 1024 * 1024)}"`);
    case 'too-many-parts':
      return send(`[${'{},'.repeat(200_000)}{}]`);
    case 'no-json':
      return send('swagger: 2.0');
    case 'deep':
      return send(`{"swagger":"2.0","paths":{${path}:{"parameters":${'['.repeat(5000)}${']'.repeat(5000)}}}}`);
    case 'another-version':
      return send('{"openapi":"3.0.0"}');
    case 'failing':
      response.writeHead(500).end();
      return;
  }
}

/** One definition is unique, one has the same name as another server's. */
function openApiV2(response: ServerResponse, group: string): void {
  const own = { type: 'object', description: `Of ${group}.` };
  const path = (name: string) => ({
    get: { responses: { 200: { description: 'OK', schema: { $ref: `#/definitions/${name}` } } } },
  });
  json(response, 200, {
    swagger: '2.0',
    info: { title: group, version: '1' },
    paths: { [`/apis/${group}/v1/echoes`]: path('com.example.Echo'), '/version/': path('com.example.Version') },
    definitions: { 'com.example.Echo': own, 'com.example.Version': { type: 'object' } },
  });
}

function json(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
