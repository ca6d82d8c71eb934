/** Bodies of forwarded requests: any size, streamed, with backpressure. */
import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { request } from 'node:https';
import type { Socket } from 'node:net';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import {
  type Aggregating,
  addExtension,
  ask,
  condition,
  startAggregating,
} from '#test/integration/apiserver/aggregation/aggregating-server.js';
import type { Extension } from '#test/integration/apiserver/aggregation/extension-server.js';
import { mostBufferedBytes } from '#test/socket-buffers.js';

const root = '/apis/bodies.example.com/v1';
const mebibyte = 1024 * 1024;
const part = Buffer.alloc(mebibyte, 'x');

let aggregating: Aggregating;
let extension: Extension;
t.before(async () => {
  aggregating = await startAggregating(t);
  extension = await addExtension(t, aggregating, 'bodies');
  await condition(aggregating, 'v1.bodies.example.com', ({ status }) => status === 'True');
});

async function until(met: () => boolean): Promise<void> {
  while (!met()) await realClock.sleep(20);
}

function post1(path: string, headers: Record<string, string | number> = {}) {
  const outgoing = request({
    ...{ host: '127.0.0.1', port: aggregating.port, method: 'POST', path: `${root}/${path}` },
    headers: { authorization: 'Bearer admin', ...headers },
    rejectUnauthorized: false,
    agent: false,
  });
  outgoing.on('error', () => undefined);
  return outgoing;
}

async function session(t: Test): Promise<ClientHttp2Session> {
  const socket = connect(`https://127.0.0.1:${aggregating.port}`, { rejectUnauthorized: false });
  socket.on('error', () => undefined);
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

function post2(client: ClientHttp2Session, path: string, method = 'POST') {
  const stream = client.request(
    { ':method': method, ':path': `${root}/${path}`, authorization: 'Bearer admin' },
    { endStream: false },
  );
  stream.on('error', () => undefined);
  return stream;
}

/** Writes parts until backpressure lasts for a while; returns the written bytes. */
async function fill(stream: NodeJS.WritableStream & { readonly destroyed?: boolean }): Promise<number> {
  let bytes = 0;
  const more = () => {
    bytes += part.length;
    if (bytes < 200 * mebibyte && stream.destroyed !== true) stream.write(part, more);
  };
  more();
  let last = -1;
  while (bytes !== last) {
    last = bytes;
    await realClock.sleep(300);
  }
  return bytes;
}

t.test('bodies above the server’s own limit are forwarded, with and without a length', async (t) => {
  const whole = Buffer.alloc(12 * mebibyte, 'x');
  const withLength = await ask(aggregating, 'admin', 'POST', `${root}/echoes`, { body: whole });
  t.match(withLength, {
    status: 200,
    json: { bytes: whole.length, headers: { 'content-length': String(whole.length) } },
  });
  const client = await session(t);
  for (const method of ['PUT', 'DELETE']) {
    const stream = post2(client, 'echoes/a', method);
    stream.end(whole);
    const parts: Buffer[] = [];
    for await (const chunk of stream as AsyncIterable<Buffer>) parts.push(chunk);
    const report = JSON.parse(Buffer.concat(parts).toString()) as { bytes: number; headers: object; method: string };
    t.match(report, { method, bytes: whole.length, headers: { 'transfer-encoding': 'chunked' } });
  }
});

t.test('each part is forwarded at once, in both directions', async (t) => {
  const stream = post2(await session(t), 'mirror');
  for (const word of ['one', 'two', 'three']) {
    stream.write(word);
    const [echo] = (await once(stream, 'data')) as [Buffer];
    t.equal(echo.toString(), word);
  }
  stream.end();
  await once(stream, 'end');
  const outgoing = post1('mirror');
  outgoing.write('four');
  const [response] = (await once(outgoing, 'response')) as [import('node:http').IncomingMessage];
  const [echo] = (await once(response, 'data')) as [Buffer];
  t.equal(echo.toString(), 'four');
  outgoing.destroy();
  await until(() => extension.open.get(`${root}/mirror`) === 0);
});

t.test('a fast sender is slowed down, and its disconnection frees everything', async (t) => {
  const outgoing = post1('deaf');
  const over1 = await fill(outgoing);
  const client = await session(t);
  const stream = post2(client, 'deaf');
  const over2 = await fill(stream);
  // One connection to the server, and one from it to the extension server.
  const bound = 20 * mebibyte + 2 * mostBufferedBytes();
  t.ok(over1 < bound && over2 < bound, 'held back', { over1, over2 });
  t.equal(extension.open.get(`${root}/deaf`), 2);
  outgoing.destroy();
  stream.close(8);
  // Without reading, the client does not notice that the server has closed the connection.
  for (const each of extension.deaf) each.resume();
  await until(() => extension.open.get(`${root}/deaf`) === 0);
  t.notOk(client.destroyed, 'the connection stays open for other requests');
});

t.test('a response before the end of the body arrives, and the connection stays usable', async (t) => {
  const outgoing = post1('refusing', { 'content-length': 8 * mebibyte });
  void fill(outgoing);
  const [response] = (await once(outgoing, 'response')) as [import('node:http').IncomingMessage];
  t.equal(response.statusCode, 413);
  const [text] = (await once(response, 'data')) as [Buffer];
  t.equal(text.toString(), 'too much');
  outgoing.destroy();
  const client = await session(t);
  const stream = post2(client, 'refusing');
  stream.write(part);
  const [head] = (await once(stream, 'response')) as [{ ':status': number }];
  t.equal(head[':status'], 413);
  stream.close();
  const next = post2(client, 'echoes');
  next.end('after');
  const parts: Buffer[] = [];
  for await (const chunk of next as AsyncIterable<Buffer>) parts.push(chunk);
  t.match(Buffer.concat(parts).toString(), /"body":"after"/);
});

t.test('a client that expects 100-continue sends its body after it', async (t) => {
  const outgoing = post1('echoes', { expect: '100-continue', 'content-length': mebibyte });
  outgoing.flushHeaders();
  await once(outgoing, 'continue');
  outgoing.end(part);
  const [response] = (await once(outgoing, 'response')) as [import('node:http').IncomingMessage];
  const parts: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) parts.push(chunk);
  t.match(JSON.parse(Buffer.concat(parts).toString()), { bytes: mebibyte });
});

t.test('a request after one that was answered early, on the same connection', async (t) => {
  const outgoing = post1('refusing', { 'content-length': 2 * mebibyte, connection: 'keep-alive' });
  outgoing.write(part);
  const [socket] = (await once(outgoing, 'socket')) as [Socket];
  const [response] = (await once(outgoing, 'response')) as [import('node:http').IncomingMessage];
  t.equal(response.statusCode, 413);
  response.resume();
  outgoing.end(part);
  // The connection is closed: further data cannot be told from the body.
  if (!socket.destroyed) await once(socket, 'close');
});
