/**
 * What the same input and output costs at least: a bare `node:https` server (and `node:http2`) that sends ready-made
 * bytes, makes one etcd transaction through `node:http2` for a write, and passes etcd's events on to those who watch. A
 * program of its own, so that its CPU can be told from that of others.
 *
 * Prints its two ports as one line of JSON. Requests:
 * - `POST /load/NAME`: keeps the body, to be sent under that name with the request's content type and encoding
 * - `GET /ready/NAME`: those bytes
 * - `GET /gzip/NAME`: those bytes, compressed each time
 * - `POST /create/NAME?key=K`, `PUT /update/NAME?key=K`: reads the body, writes the bytes of NAME to that key, sends them
 * - `GET /watch/NAME`: those bytes whenever something below `/bare/watched/` is written
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
import { prefixEnd, type Revision } from '#storage/store.js';

/** Writes to etcd with what Node.js itself has, and nothing around it. */

/** Flag and length before a gRPC message. */
const prefixBytes = 5;

class RawEtcd {
  readonly #session: ClientHttp2Session;

  constructor(endpoint: string) {
    this.#session = connect(endpoint);
  }

  /** One transaction: puts `value` when the key's mod revision is `expected` (0: there is no such key). */
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

/** Keys whose changes the bare server passes on to those who watch. */
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
/** As the API server has it. */
const gzipLevel = 4;

async function bodyOf(request: Request): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

/** Big bodies in pieces, which is cheaper than all at once: the encrypted form stays small. */
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
  const made = ready.get(name);
  if (made === undefined) {
    (response as ServerResponse).writeHead(404).end();
    return;
  }
  if (verb === 'ready') return send(response, made);
  if (verb === 'gzip') {
    return send(response, {
      bytes: await compress(made.bytes, { level: gzipLevel }),
      headers: { ...made.headers, 'content-encoding': 'gzip' },
    });
  }
  if (verb === 'watch') {
    (response as ServerResponse).writeHead(200, made.headers);
    (response as ServerResponse).flushHeaders();
    watchers.set(response, made.bytes);
    response.once('close', () => watchers.delete(response));
    return;
  }
  await bodyOf(request);
  const key = `/bare/${url.slice(mark + 5)}`;
  if (verb === 'create') {
    await put(key, made.bytes, 0n);
    return send(response, made, 201);
  }
  const revision = revisions.get(key) ?? (await put(key, made.bytes, 0n));
  revisions.set(key, await put(key, made.bytes, revision));
  await send(response, made);
}

async function put(key: string, bytes: Buffer, expected: Revision): Promise<Revision> {
  const { succeeded, revision } = await etcd.put(key, bytes, expected);
  if (!succeeded) throw new Error(`${key} was changed by somebody else`);
  return revision;
}

/** Of the keys that were updated. */
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
