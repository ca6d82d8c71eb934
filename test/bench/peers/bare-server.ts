/**
 * The minimum cost of the same input and output: a bare `node:https` server (and `node:http2`) that sends prepared bytes,
 * performs one etcd transaction through `node:http2` per write, and passes etcd's events to watchers. A separate process,
 * so that its CPU time can be measured.
 *
 * Prints its two ports as one line of JSON. Requests:
 * - `POST /load/NAME`: stores the body, its content type and encoding under the name
 * - `GET /ready/NAME`: sends the stored bytes
 * - `GET /gzip/NAME`: sends the stored bytes, compressed each time
 * - `POST /create/NAME?key=K`, `PUT /update/NAME?key=K`: reads the body, writes the stored bytes to the key, sends them
 * - `GET /watch/NAME`: sends the stored bytes at every write below `/bare/watched/`
 */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type ClientHttp2Session,
  connect,
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { realClock } from '#apimachinery/clock.js';
import { type EtcdWriteResponse, readConditionalWriteResponse, WireReader } from '#storage/etcd/answers.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { conditionalWriteRequest } from '#storage/etcd/requests.js';
import { prefixEnd } from '#storage/sorted-map.js';
import type { Revision } from '#storage/store.js';

/** Writes to etcd with Node.js's own HTTP/2 client only. */

/** The flag and length before a gRPC message. */
const prefixBytes = 5;

class RawEtcd {
  readonly #session: ClientHttp2Session;

  constructor(endpoint: string) {
    this.#session = connect(endpoint);
  }

  /** One transaction: puts `value` if the key's mod revision is `expected` (0: the key does not exist). */
  async put(key: string, value: Buffer, expected: Revision): Promise<EtcdWriteResponse> {
    const answer = await this.#call(
      '/etcdserverpb.KV/Txn',
      conditionalWriteRequest({ key, expected, write: { type: 'put', value } }).finish(),
    );
    return readConditionalWriteResponse(new WireReader(answer.subarray(prefixBytes)));
  }

  #call(path: string, message: Buffer): Promise<Buffer> {
    const framed = Buffer.allocUnsafe(prefixBytes + message.length);
    framed[0] = 0;
    framed.writeUInt32BE(message.length, 1);
    message.copy(framed, prefixBytes);
    return new Promise((resolve, reject) => {
      const stream = this.#session.request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.once('error', reject);
      stream.once('end', () => resolve(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)));
      stream.end(framed);
    });
  }
}

/** Keys whose changes are passed to watchers. */
const watchedPrefix = '/bare/watched/';

type Request = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;

interface Ready {
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

const [endpoint = '', certFile = '', keyFile = ''] = process.argv.slice(2);
const tls = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
const store = new EtcdStore({ endpoints: [endpoint], root: '/bare', clock: realClock, random: Math.random });
const etcd = new RawEtcd(endpoint);
const ready = new Map<string, Ready>();
const watchers = new Map<Response, Buffer>();
const compress = promisify(gzip);
/** As in the API server. */
const gzipLevel = 4;

async function bodyOf(request: Request): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

/** Sends large bodies in pieces, which is cheaper because encryption buffers stay small. */
const pieceBytes = 256 * 1024;

async function send(response: Response, { bytes, headers }: Ready, status = 200): Promise<void> {
  const target = response as ServerResponse;
  target.writeHead(status, { ...headers, 'content-length': bytes.length });
  let at = 0;
  for (; at + pieceBytes < bytes.length; at += pieceBytes) {
    if (!target.write(bytes.subarray(at, at + pieceBytes))) await once(target, 'drain');
  }
  target.end(at === 0 ? bytes : bytes.subarray(at));
}

async function answer(request: Request, response: Response): Promise<void> {
  const url = request.url ?? '';
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const [, verb = '', name = ''] = path.split('/');
  if (verb === 'load') {
    const headers: Record<string, string> = { 'content-type': request.headers['content-type'] ?? '' };
    const encoding = request.headers['content-encoding'];
    if (encoding !== undefined) headers['content-encoding'] = encoding;
    ready.set(name, { bytes: await bodyOf(request), headers });
    (response as ServerResponse).end();
    return;
  }
  const stored = ready.get(name);
  if (stored === undefined) {
    (response as ServerResponse).writeHead(404).end();
    return;
  }
  if (verb === 'ready') return send(response, stored);
  if (verb === 'gzip') {
    return send(response, {
      bytes: await compress(stored.bytes, { level: gzipLevel }),
      headers: { ...stored.headers, 'content-encoding': 'gzip' },
    });
  }
  if (verb === 'watch') {
    (response as ServerResponse).writeHead(200, stored.headers);
    (response as ServerResponse).flushHeaders();
    watchers.set(response, stored.bytes);
    response.once('close', () => watchers.delete(response));
    return;
  }
  await bodyOf(request);
  const key = `/bare/${url.slice(mark + 5)}`;
  if (verb === 'create') {
    await put(key, stored.bytes, 0n);
    return send(response, stored, 201);
  }
  const revision = revisions.get(key) ?? (await put(key, stored.bytes, 0n));
  revisions.set(key, await put(key, stored.bytes, revision));
  await send(response, stored);
}

async function put(key: string, bytes: Buffer, expected: Revision): Promise<Revision> {
  const { succeeded, revision } = await etcd.put(key, bytes, expected);
  if (!succeeded) throw new Error(`${key} was changed by another writer`);
  return revision;
}

/** Revisions of updated keys. */
const revisions = new Map<string, bigint>();

async function passOn(): Promise<void> {
  const fromRevision = (await store.currentRevision()) + 1n;
  const range = { start: watchedPrefix, end: prefixEnd(watchedPrefix) };
  for await (const message of store.watch({ ...range, fromRevision, signal: new AbortController().signal })) {
    if (message.type !== 'events') continue;
    for (const [response, bytes] of watchers) for (const _ of message.events) (response as ServerResponse).write(bytes);
  }
}

function listening(server: { listen(port: number, host: string, done: () => void): unknown; address(): unknown }) {
  return new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

const failed = (response: Response) => (error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  (response as ServerResponse).destroy();
};
const http1 = createServer({ ...tls, keepAliveTimeout: 75_000 }, (request, response) => {
  answer(request, response).catch(failed(response));
});
const http2 = createSecureServer(tls, (request, response) => {
  answer(request, response).catch(failed(response));
});
const ports = { http1: await listening(http1), http2: await listening(http2) };
process.stdout.write(`${JSON.stringify(ports)}\n`);
await passOn();
