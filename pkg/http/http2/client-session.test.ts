import { once } from 'node:events';
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { deferred } from '#apimachinery/async/deferred.js';
import { Http2Session, type Http2Stream, type SessionOptions, type StreamFailure } from '#http/http2/client-session.js';
import {
  frame,
  frameFlag,
  frameType,
  numberFrame,
  preface,
  resetCode,
  setting,
  settingsFrame,
} from '#http/http2/frames.js';
import { encodeHeaders, type HeaderField } from '#http/http2/hpack.js';

const nothing = Buffer.alloc(0);

/** Events of one stream. */
interface Answer {
  readonly stream: Http2Stream;
  readonly fields: HeaderField[];
  readonly body: Buffer[];
  readonly ended: Promise<StreamFailure | undefined>;
}

interface Connection {
  readonly session: Http2Session;
  readonly ready: Promise<void>;
  readonly draining: Promise<void>;
  readonly closed: Promise<Error | undefined>;
  open(path: string, body?: Buffer, ends?: boolean): Answer;
}

async function connected(
  t: Test,
  server: Pick<Server, 'address'>,
  windowBytes = 100_000,
  delayPong?: SessionOptions['delayPong'],
): Promise<Connection> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
  t.teardown(() => socket.destroy());
  const ready = deferred<void>();
  const draining = deferred<void>();
  const closed = deferred<Error | undefined>();
  const session = new Http2Session({
    socket,
    streamWindowBytes: windowBytes,
    sessionWindowBytes: 2 * windowBytes,
    delayPong,
    handler: { ready: ready.resolve, draining: draining.resolve, closed: closed.resolve },
  });
  const open = (path: string, body = nothing, ends = true): Answer => {
    const fields: HeaderField[] = [];
    const parts: Buffer[] = [];
    const ended = deferred<StreamFailure | undefined>();
    const head = encodeHeaders([
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', path],
      [':authority', 'localhost'],
      ['x-long', 'v'.repeat(300)],
    ]);
    const stream = session.open(head, body, ends, {
      headers: (more) => fields.push(...more),
      data: (chunk) => {
        parts.push(chunk);
        stream.took(chunk.length);
      },
      ended: ended.resolve,
    });
    return { stream, fields, body: parts, ended: ended.promise };
  };
  return { session, ready: ready.promise, draining: draining.promise, closed: closed.promise, open };
}

void t.test('exchanges requests and responses with the server of Node.js', async (t) => {
  const characters = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i));
  const headers = Object.fromEntries(characters.map((character, i) => [`x-${i}`, `1${character.repeat(3)}e`]));
  let most = 0;
  let open = 0;
  const server = createHttp2Server({ settings: { maxConcurrentStreams: 7, initialWindowSize: 1000 } });
  server.on('stream', (stream: ServerHttp2Stream, received) => {
    open++;
    most = Math.max(most, open);
    stream.on('close', () => open--);
    stream.on('error', () => undefined);
    stream.respond({ ':status': 200, ...headers, 'x-path': String(received[':path']), 'x-sum': received['x-long'] });
    stream.pipe(stream);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { session, ready, closed, open: request } = await connected(t, server);
  await ready;
  const body = Buffer.alloc(300_000, 'abcdefg');
  const answers = Array.from({ length: 30 }, (_, i) => request(`/${i}`, i % 3 === 0 ? nothing : body));
  const given = answers[29]?.stream;
  given?.reset(resetCode.CANCEL);
  for (const [i, { fields, body: parts, ended }] of answers.slice(0, 29).entries()) {
    t.equal(await ended, undefined);
    const fieldMap = Object.fromEntries(fields);
    t.match(fieldMap, { ':status': '200', 'x-path': `/${i}`, 'x-sum': 'v'.repeat(300), ...headers });
    t.ok(Buffer.concat(parts).equals(i % 3 === 0 ? nothing : body), `the body of ${i}`);
  }
  t.ok(most <= 7, 'open streams reach the limit of the server');
  await new Promise<void>((resolve) => session.ping(resolve));
  session.destroy(undefined);
  t.equal(await closed, undefined);
  t.equal(session.closed, true);
  t.match(await request('/late').ended, { sent: false });
});

interface Script {
  readonly server: Server;
  /** What the client sent after its preface. */
  readonly received: () => Buffer;
  readonly peer: Promise<Socket>;
}

/** A scripted server. */
async function scripted(t: Test, settings: readonly (readonly [number, number])[] = []): Promise<Script> {
  const peer = deferred<Socket>();
  const parts: Buffer[] = [];
  const server = createServer((socket) => {
    socket.on('data', (chunk) => parts.push(chunk));
    socket.on('error', () => undefined);
    socket.write(settingsFrame(settings));
    t.teardown(() => socket.destroy());
    peer.resolve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { server, received: () => Buffer.concat(parts).subarray(preface.length), peer: peer.promise };
}

const { DATA, HEADERS, CONTINUATION, GOAWAY, PING, PRIORITY, PUSH_PROMISE, RST_STREAM, SETTINGS, WINDOW_UPDATE } =
  frameType;
const { END_STREAM, END_HEADERS, PADDED } = frameFlag;
const ok = encodeHeaders([[':status', '200']]);
const padding = (content: Buffer, length: number) =>
  Buffer.concat([Buffer.from([length]), content, Buffer.alloc(length)]);
const farewell = (last: number, code: number) => {
  const payload = Buffer.alloc(8);
  payload.writeUInt32BE(last, 0);
  payload.writeUInt32BE(code, 4);
  return frame(GOAWAY, 0, 0, payload);
};

void t.test('frames of every form are parsed, even in pieces', async (t) => {
  const answer = Buffer.concat([
    frame(PRIORITY, 0, 1, Buffer.alloc(5)),
    frame(HEADERS, PADDED | frameFlag.PRIORITY, 1, padding(Buffer.concat([Buffer.alloc(5), ok.subarray(0, 3)]), 4)),
    frame(CONTINUATION, 0, 1, ok.subarray(3, 5)),
    frame(CONTINUATION, END_HEADERS, 1, ok.subarray(5)),
    frame(99, 0, 0, Buffer.from('unknown')),
    frame(DATA, PADDED, 1, padding(Buffer.from('ab'), 3)),
    frame(DATA, 0, 1, nothing),
    frame(DATA, 0, 1, Buffer.from('cdef')),
    frame(PING, 0, 0, Buffer.from('12345678')),
    frame(DATA, END_STREAM, 1, Buffer.from('g')),
    frame(RST_STREAM, 0, 1, Buffer.alloc(4)),
  ]);
  for (const size of [1, 2, 7, 9, 10, answer.length]) {
    const { server, peer, received } = await scripted(t);
    const { ready, open } = await connected(t, server);
    await ready;
    const { fields, body, ended } = open('/');
    const socket = await peer;
    for (let at = 0; at < answer.length; at += size) {
      socket.write(answer.subarray(at, at + size));
      // Each piece separately.
      await new Promise(setImmediate);
    }
    t.equal(await ended, undefined, `pieces of ${size}`);
    t.same(fields, [[':status', '200']]);
    t.equal(Buffer.concat(body).toString(), 'abcdefg');
    const pong = frame(PING, frameFlag.ACK, 0, Buffer.from('12345678'));
    while (!received().includes(pong)) await new Promise(setImmediate);
  }
});

void t.test('ping replies may be delayed', async (t) => {
  const { server, peer, received } = await scripted(t);
  const waiting: (() => void)[] = [];
  const { ready, session } = await connected(t, server, undefined, (answer) => waiting.push(answer));
  await ready;
  const ping = (text: string) => frame(PING, 0, 0, Buffer.from(text));
  const pong = (text: string) => frame(PING, frameFlag.ACK, 0, Buffer.from(text));
  const socket = await peer;
  const answered = async (text: string) => {
    while (!received().includes(pong(text))) await new Promise(setImmediate);
  };
  socket.write(Buffer.concat([ping('put off.'), ping('at once.')]));
  await answered('at once.');
  t.notOk(received().includes(pong('put off.')), 'one reply is delayed at a time');
  waiting.shift()?.();
  await answered('put off.');
  socket.write(ping('another.'));
  while (waiting.length === 0) await new Promise(setImmediate);
  session.destroy(undefined);
  waiting.shift()?.();
  t.pass('no caller is left');
});

void t.test('sending respects the windows', async (t) => {
  const { server, peer, received } = await scripted(t, [[setting.INITIAL_WINDOW_SIZE, 5]]);
  const { ready, open } = await connected(t, server);
  await ready;
  const socket = await peer;
  const { ended } = open('/', Buffer.from('0123456789'));
  const sent = (text: string, flags: number) => frame(DATA, flags, 1, Buffer.from(text));
  const until = async (bytes: Buffer) => {
    while (!received().includes(bytes)) await new Promise(setImmediate);
  };
  await until(sent('01234', 0));
  socket.write(numberFrame(WINDOW_UPDATE, 1, 2));
  await until(sent('56', 0));
  socket.write(settingsFrame([[setting.INITIAL_WINDOW_SIZE, 6]]));
  await until(sent('7', 0));
  socket.write(numberFrame(WINDOW_UPDATE, 1, 100));
  await until(sent('89', END_STREAM));
  socket.write(frame(HEADERS, END_HEADERS | END_STREAM, 1, ok));
  t.equal(await ended, undefined);
});

void t.test('a response may precede the request body', async (t) => {
  const { server, peer, received } = await scripted(t, [[setting.INITIAL_WINDOW_SIZE, 5]]);
  const { ready, open } = await connected(t, server);
  await ready;
  const { ended } = open('/', Buffer.from('0123456789'));
  (await peer).write(frame(HEADERS, END_HEADERS | END_STREAM, 1, ok));
  t.equal(await ended, undefined);
  const reset = numberFrame(RST_STREAM, 1, resetCode.CANCEL);
  while (!received().includes(reset)) await new Promise(setImmediate);
});

void t.test('GOAWAY drains the session', async (t) => {
  const { server, peer } = await scripted(t, [[setting.MAX_CONCURRENT_STREAMS, 2]]);
  const { session, ready, draining, closed, open } = await connected(t, server);
  await ready;
  const socket = await peer;
  const [seen, unseen, waiting] = [open('/1'), open('/2'), open('/3')];
  socket.write(farewell(1, resetCode.NO_ERROR));
  await draining;
  t.equal(session.closed, true);
  t.match(await unseen?.ended, { code: resetCode.REFUSED_STREAM, sent: false });
  t.match(await waiting?.ended, { code: resetCode.REFUSED_STREAM, sent: false });
  socket.write(frame(HEADERS, END_HEADERS | END_STREAM, 1, ok));
  t.equal(await seen?.ended, undefined, 'accepted requests are answered');
  t.equal(await closed, undefined);
});

void t.test('peers that violate the protocol are disconnected', async (t) => {
  const many = (count: number, bytes: Buffer) => Buffer.concat(Array.from({ length: count }, () => bytes));
  const rows: Record<string, Buffer> = {
    'a frame that is too large': frame(DATA, 0, 1, Buffer.alloc(16_385)),
    'data for no stream': frame(DATA, 0, 3, nothing),
    'data for a stream of its own': frame(DATA, 0, 2, nothing),
    'headers for no stream': frame(HEADERS, END_HEADERS, 3, ok),
    'headers that cannot be read': frame(HEADERS, END_HEADERS, 1, Buffer.from([0x80])),
    'more padding than there is': frame(HEADERS, END_HEADERS | PADDED, 1, Buffer.from([9, 0])),
    'more padding than data': frame(DATA, PADDED, 1, Buffer.from([9, 0])),
    'a block that is interrupted': Buffer.concat([frame(HEADERS, 0, 1, ok), frame(DATA, 0, 1, nothing)]),
    'a continuation of nothing': frame(CONTINUATION, END_HEADERS, 1, ok),
    'headers without an end': Buffer.concat([
      frame(HEADERS, 0, 1, ok),
      many(5, frame(CONTINUATION, 0, 1, Buffer.alloc(16_384))),
    ]),
    'a push': frame(PUSH_PROMISE, END_HEADERS, 1, Buffer.concat([Buffer.from([0, 0, 0, 2]), ok])),
    'settings in part': frame(SETTINGS, 0, 0, Buffer.alloc(5)),
    'a window too large': numberFrame(WINDOW_UPDATE, 0, 2 ** 31 - 1),
    'a first window too large': settingsFrame([[setting.INITIAL_WINDOW_SIZE, 2 ** 31]]),
    'a ping in part': frame(PING, 0, 0, nothing),
    'a reset in part': frame(RST_STREAM, 0, 1, nothing),
    'a farewell in part': frame(GOAWAY, 0, 0, nothing),
    'a window in part': frame(WINDOW_UPDATE, 0, 1, nothing),
  };
  for (const [name, bytes] of Object.entries(rows)) {
    const { server, peer } = await scripted(t);
    const { ready, closed, open } = await connected(t, server);
    await ready;
    const { ended } = open('/');
    (await peer).write(bytes);
    t.match(await closed, { message: /^HTTP\/2: / }, name);
    t.match(await ended, { code: undefined, sent: true }, name);
  }
  const { server, peer } = await scripted(t);
  const { ready, open } = await connected(t, server, 70_000);
  await ready;
  const { stream, ended } = open('/');
  stream.took = () => undefined;
  (await peer).write(
    Buffer.concat([frame(HEADERS, END_HEADERS, 1, ok), many(5, frame(DATA, 0, 1, Buffer.alloc(16_384)))]),
  );
  t.match(await ended, { code: resetCode.FLOW_CONTROL_ERROR }, 'more data than the window allows');
});

void t.test('a server that speaks another protocol is disconnected', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write('HTTP/1.1 400 Bad Request\r\n\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { closed } = await connected(t, server);
  t.match(await closed, { message: /^HTTP\/2: / });
});
