/**
 * Violations and abuse by clients (RFC 9113): the server-side cases of h2spec by section, floods, and clients that do
 * not read. Streams in memory show everything that the server sends.
 */

import type { Duplex } from 'node:stream';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import type { StreamFailure } from '#http/http2/client-session.js';
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
import { encodeHeaders, HeaderDecoder, type HeaderField } from '#http/http2/hpack.js';
import { ServerSession } from '#http/http2/server-session.js';
import type { ServerStream } from '#http/http2/server-stream.js';
import { lastSent, type SentFrame, sentFrames } from '#http/http2/testing/sent-frames.js';
import { socketPair } from '#http/http2/testing/socket-pair.js';

const { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION } =
  frameType;
const { END_STREAM, END_HEADERS, ACK } = frameFlag;
const {
  NO_ERROR,
  PROTOCOL_ERROR,
  FLOW_CONTROL_ERROR,
  STREAM_CLOSED,
  FRAME_SIZE_ERROR,
  REFUSED_STREAM,
  CANCEL,
  COMPRESSION_ERROR,
  ENHANCE_YOUR_CALM,
} = resetCode;
const nothing = Buffer.alloc(0);
const text = Buffer.from('test');
const all = (...parts: Buffer[]) => Buffer.concat(parts);
const many = (count: number, bytes: Buffer) => Buffer.concat(Array.from({ length: count }, () => bytes));
const get: readonly HeaderField[] = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':path', '/'],
  [':authority', 'a'],
];
const post: readonly HeaderField[] = [[':method', 'POST'], ...get.slice(1)];
const block = encodeHeaders(get);
const head = (fields: readonly HeaderField[], flags = 0, streamId = 1) =>
  frame(HEADERS, END_HEADERS | flags, streamId, encodeHeaders(fields));
const requestHead = head(get, END_STREAM);
const begun = head(post);

interface Scene {
  readonly session: ServerSession;
  readonly peer: Duplex;
  /** Events of the server by stream. */
  readonly streams: Map<number, { stream: ServerStream; ended: boolean; body: number; over?: StreamFailure | 'well' }>;
  readonly isClosed: () => boolean;
  all(): SentFrame[];
  said(type: number, streamId?: number): SentFrame | undefined;
}

const maxStreams = 5;
const streamWindowBytes = 100_000;

function scene(t: Test, { begins = true, reads = true } = {}): Scene {
  const [socket, peer] = socketPair();
  const parts: Buffer[] = [];
  peer.on('data', (chunk: Buffer) => parts.push(chunk));
  peer.on('error', () => undefined);
  let closed = false;
  const streams: Scene['streams'] = new Map();
  const session = new ServerSession({
    socket,
    clock: realClock,
    maxStreams,
    maxHeaderBytes: 2000,
    streamWindowBytes,
    sessionWindowBytes: 150_000,
    handler: {
      request(stream, { tooLarge }) {
        const seen: NonNullable<ReturnType<Scene['streams']['get']>> = { stream, ended: tooLarge, body: 0 };
        streams.set(stream.id, seen);
        stream.handler = {
          data(chunk) {
            seen.body += chunk.length;
            if (reads) stream.took(chunk.length);
          },
          ended() {
            seen.ended = true;
          },
          drained() {},
          closed(failure) {
            seen.over = failure ?? 'well';
          },
        };
      },
      closed() {
        closed = true;
      },
    },
  });
  t.teardown(() => session.destroy(undefined));
  if (begins) peer.write(all(preface, settingsFrame([])));
  const received = () => sentFrames(Buffer.concat(parts));
  const said = (type: number, streamId?: number) => lastSent(received(), type, streamId);
  return { session, peer, streams, isClosed: () => closed, all: received, said };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await turn();
}

let pings = 0;

/** Waits until everything sent so far is processed. */
async function answered({ peer, said }: Scene): Promise<void> {
  const payload = Buffer.alloc(8);
  payload.writeUInt32BE(++pings);
  peer.write(frame(PING, 0, 0, payload));
  await until(() => said(PING)?.payload.equals(payload) === true);
}

/** Frames that end the connection, with the server's error code. */
const fatal: Record<string, readonly [bytes: Buffer, code: number]> = {
  '4.2 DATA larger than agreed': [all(begun, frame(DATA, 0, 1, Buffer.alloc(16_385))), FRAME_SIZE_ERROR],
  '4.3 a block that cannot be read': [frame(HEADERS, END_HEADERS, 1, Buffer.from([0x40])), COMPRESSION_ERROR],
  '4.3 an interrupted block': [all(frame(HEADERS, 0, 1, block), frame(PING, 0, 0, Buffer.alloc(8))), PROTOCOL_ERROR],
  '5.1 idle: DATA': [frame(DATA, 0, 1, text), PROTOCOL_ERROR],
  '5.1 idle: RST_STREAM': [numberFrame(RST_STREAM, 1, CANCEL), PROTOCOL_ERROR],
  '5.1 idle: WINDOW_UPDATE': [numberFrame(WINDOW_UPDATE, 1, 1), PROTOCOL_ERROR],
  '5.1.1 a stream of an even number': [head(get, END_STREAM, 2), PROTOCOL_ERROR],
  '6.1 DATA of no stream': [frame(DATA, 0, 0, text), PROTOCOL_ERROR],
  '6.5.2 ENABLE_PUSH of 2': [settingsFrame([[setting.ENABLE_PUSH, 2]]), PROTOCOL_ERROR],
  '6.5.2 a first window too large': [settingsFrame([[setting.INITIAL_WINDOW_SIZE, 2 ** 31]]), FLOW_CONTROL_ERROR],
  '6.6 PUSH_PROMISE': [frame(PUSH_PROMISE, END_HEADERS, 1, all(Buffer.from([0, 0, 0, 2]), block)), PROTOCOL_ERROR],
  '6.7 PING of another length': [frame(PING, 0, 0, text), FRAME_SIZE_ERROR],
  '6.8 GOAWAY in part': [frame(GOAWAY, 0, 0, text), FRAME_SIZE_ERROR],
  '6.9 a window that does not grow': [numberFrame(WINDOW_UPDATE, 0, 0), PROTOCOL_ERROR],
  '6.9.1 a window too large': [many(2, numberFrame(WINDOW_UPDATE, 0, 2 ** 31 - 1)), FLOW_CONTROL_ERROR],
  'a flood of CONTINUATIONs': [
    all(frame(HEADERS, 0, 1, block), many(1000, frame(CONTINUATION, 0, 1, nothing))),
    ENHANCE_YOUR_CALM,
  ],
  'a flood of empty DATA': [all(begun, many(20_000, frame(DATA, 0, 1, nothing))), ENHANCE_YOUR_CALM],
  'a flood of PRIORITY': [many(20_000, frame(PRIORITY, 0, 1, Buffer.alloc(5))), ENHANCE_YOUR_CALM],
  'a flood of unknown frames': [many(20_000, frame(0x16, 0, 0, nothing)), ENHANCE_YOUR_CALM],
  'a flood of PINGs': [many(20_000, frame(PING, 0, 0, Buffer.alloc(8))), ENHANCE_YOUR_CALM],
  'a flood of SETTINGS': [many(20_000, settingsFrame([])), ENHANCE_YOUR_CALM],
  'requests that are given up': [
    all(
      ...Array.from({ length: 3000 }, (_, i) =>
        all(head(get, END_STREAM, 2 * i + 1), numberFrame(RST_STREAM, 2 * i + 1, CANCEL)),
      ),
    ),
    ENHANCE_YOUR_CALM,
  ],
};

void t.test('invalid frames end the connection', async (t) => {
  for (const [name, [bytes, code]] of Object.entries(fatal)) {
    const { peer, said, streams, session } = scene(t);
    peer.write(bytes);
    await until(() => said(GOAWAY) !== undefined);
    t.equal(said(GOAWAY)?.payload.readUInt32BE(4), code, `${name}: the code`);
    t.ok(session.leaving, name);
    t.ok(
      [...streams.values()].every(({ over }) => over !== undefined),
      `${name}: its streams are over`,
    );
    session.destroy(undefined);
  }
});

const field = (name: string, value: string, flags = END_STREAM) => head([...get, [name, value]], flags);

/** Frames that end one stream. */
const fatalForStream: Record<string, readonly [bytes: Buffer, code: number]> = {
  '5.1 half-closed: DATA': [all(requestHead, frame(DATA, 0, 1, text)), STREAM_CLOSED],
  '5.1 half-closed: HEADERS': [all(requestHead, requestHead), STREAM_CLOSED],
  '6.9 a window that does not grow': [all(requestHead, numberFrame(WINDOW_UPDATE, 1, 0)), PROTOCOL_ERROR],
  '6.9.1 a window too large': [
    all(requestHead, many(2, numberFrame(WINDOW_UPDATE, 1, 2 ** 31 - 1))),
    FLOW_CONTROL_ERROR,
  ],
  '8.1 trailers that are not the end': [all(begun, head([['x', 'y']])), PROTOCOL_ERROR],
  '8.1.1 more data than content-length': [
    all(head([...post, ['content-length', '3']]), frame(DATA, 0, 1, text)),
    PROTOCOL_ERROR,
  ],
  '8.1.1 less data than content-length': [
    all(head([...post, ['content-length', '5']]), frame(DATA, END_STREAM, 1, text)),
    PROTOCOL_ERROR,
  ],
  '8.2 a name in capitals': [field('X-Test', 'ok'), PROTOCOL_ERROR],
  '8.2.1 a value of several lines': [field('x', 'a\r\nb'), PROTOCOL_ERROR],
  '8.3 an unknown pseudo-header': [head([[':test', 'ok'], ...get], END_STREAM), PROTOCOL_ERROR],
  '8.3 a pseudo-header behind others': [head([['x', 'y'], ...get], END_STREAM), PROTOCOL_ERROR],
  '8.3 a pseudo-header in trailers': [all(begun, head([[':path', '/']], END_STREAM)), PROTOCOL_ERROR],
  '8.3.1 an empty path': [head([...get.filter(([name]) => name !== ':path'), [':path', '']]), PROTOCOL_ERROR],
  '8.3.1 a path with a space': [head([[':path', '/a b'], ...get.filter(([name]) => name !== ':path')]), PROTOCOL_ERROR],
  '8.3.1 no path': [head(get.filter(([name]) => name !== ':path')), PROTOCOL_ERROR],
  '8.3.1 two methods': [head([[':method', 'GET'], ...get]), PROTOCOL_ERROR],
  '8.3.1 no method': [head(get.slice(1)), PROTOCOL_ERROR],
  '8.5 a CONNECT with a path': [head([[':method', 'CONNECT'], ...get.slice(1)]), PROTOCOL_ERROR],
};

void t.test('some violations end only their stream', async (t) => {
  for (const [name, [bytes, code]] of Object.entries(fatalForStream)) {
    const its = scene(t);
    its.peer.write(bytes);
    await answered(its);
    t.equal(its.said(RST_STREAM, 1)?.payload.readUInt32BE(0), code, `${name}: the code`);
    t.equal(its.said(GOAWAY), undefined, `${name}: the connection goes on`);
    t.equal(its.session.size, 0);
    its.session.destroy(undefined);
  }
});

void t.test('invalid prefaces end the connection', async (t) => {
  for (const greeting of [Buffer.from('GET / HTTP/1.1\r\n\r\n'), all(preface, frame(PING, 0, 0, Buffer.alloc(8)))]) {
    const { peer, said } = scene(t, { begins: false });
    peer.write(greeting);
    await until(() => said(GOAWAY) !== undefined);
    t.equal(said(GOAWAY)?.payload.readUInt32BE(4), PROTOCOL_ERROR);
  }
});

void t.test('excess streams are refused, open ones continue', async (t) => {
  const its = scene(t);
  for (let i = 0; i <= maxStreams; i++) its.peer.write(head(get, END_STREAM, 2 * i + 1));
  await answered(its);
  t.equal(its.said(RST_STREAM, 2 * maxStreams + 1)?.payload.readUInt32BE(0), REFUSED_STREAM);
  t.equal(its.session.size, maxStreams);
  its.streams.get(1)?.stream.head(encodeHeaders([[':status', '204']]), true);
  its.peer.write(head(get, END_STREAM, 99));
  await answered(its);
  t.ok(its.streams.has(99));
});

void t.test('oversized headers are reported', async (t) => {
  const its = scene(t);
  its.peer.write(field('x', 'y'.repeat(3000)));
  await answered(its);
  t.equal(its.streams.get(1)?.ended, true);
});

void t.test('oversized header blocks up to a bound are reported, and the connection continues', async (t) => {
  const its = scene(t);
  const long = encodeHeaders([...get, ['x', 'y'.repeat(7000)]]);
  const inParts = (bytes: Buffer, streamId: number) =>
    all(
      frame(HEADERS, END_STREAM, streamId, bytes.subarray(0, 3000)),
      frame(CONTINUATION, END_HEADERS, streamId, bytes.subarray(3000)),
    );
  its.peer.write(inParts(long, 1));
  await answered(its);
  t.equal(its.streams.get(1)?.ended, true);
  // Each byte stands for an entry of 4 kB; later entries are counted but not kept.
  const entry = all(Buffer.from([0x40]), encodeHeaders([['x', 'v'.repeat(4000)]]).subarray(1));
  its.peer.write(inParts(all(encodeHeaders(get), entry, Buffer.alloc(3000, 0xbe)), 3));
  await answered(its);
  t.equal(its.streams.get(3)?.ended, true);
  its.peer.write(head(get, END_STREAM, 5));
  await answered(its);
  t.equal(its.said(GOAWAY), undefined);
  its.peer.write(inParts(Buffer.alloc(9000), 7));
  await until(() => its.said(GOAWAY) !== undefined);
  t.equal(its.said(GOAWAY)?.payload.readUInt32BE(4), ENHANCE_YOUR_CALM);
});

void t.test('data after a response is discarded', async (t) => {
  const its = scene(t);
  its.peer.write(begun);
  await answered(its);
  const { stream } = its.streams.get(1) ?? {};
  stream?.head(encodeHeaders([[':status', '403']]));
  stream?.end(text);
  its.peer.write(all(frame(DATA, 0, 1, Buffer.alloc(16_384)), head([['x', 'y']], END_STREAM)));
  await answered(its);
  t.equal(its.said(RST_STREAM, 1)?.payload.readUInt32BE(0), NO_ERROR);
  t.equal(its.streams.get(1)?.over, 'well');
  t.equal(its.said(GOAWAY), undefined);
});

void t.test('an unread body stays with the client', async (t) => {
  const its = scene(t, { reads: false });
  its.peer.write(begun);
  for (let i = 0; i < 7; i++) its.peer.write(frame(DATA, 0, 1, Buffer.alloc(16_384)));
  await answered(its);
  t.equal(its.said(RST_STREAM, 1)?.payload.readUInt32BE(0), FLOW_CONTROL_ERROR);
  t.ok((its.streams.get(1)?.body ?? 0) <= streamWindowBytes);
  // The connection's window is restored, and shared by all streams.
  for (const streamId of [3, 5]) {
    its.peer.write(head(post, 0, streamId));
    for (let i = 0; i < 5; i++) its.peer.write(frame(DATA, 0, streamId, Buffer.alloc(16_000)));
  }
  await until(() => its.said(GOAWAY) !== undefined);
  t.equal(its.said(GOAWAY)?.payload.readUInt32BE(4), FLOW_CONTROL_ERROR);
});

void t.test('a response respects the windows, and is cancelled if the client does not read', async (t) => {
  const its = scene(t);
  its.peer.write(all(settingsFrame([[setting.INITIAL_WINDOW_SIZE, 0]]), requestHead, head(get, END_STREAM, 3)));
  await answered(its);
  for (const { stream } of its.streams.values()) {
    stream.head(encodeHeaders([[':status', '200']]));
    stream.end(Buffer.from('answer'));
  }
  its.peer.write(numberFrame(WINDOW_UPDATE, 1, 2));
  await answered(its);
  t.equal(its.said(DATA, 1)?.payload.toString(), 'an');
  its.peer.write(settingsFrame([[setting.INITIAL_WINDOW_SIZE, 4]]));
  await answered(its);
  t.match(its.said(DATA, 1), { payload: Buffer.from('swer'), flags: END_STREAM });
  t.equal(its.streams.get(1)?.over, 'well');
  its.session.resetStalled(realClock.monotonic());
  await answered(its);
  t.equal(its.said(RST_STREAM, 3)?.payload.readUInt32BE(0), CANCEL);
  t.ok(its.streams.get(3)?.over);
});

void t.test('a client with a smaller table is told that none is used', async (t) => {
  const its = scene(t);
  its.peer.write(all(settingsFrame([[setting.HEADER_TABLE_SIZE, 0]]), requestHead));
  await answered(its);
  its.streams.get(1)?.stream.head(encodeHeaders([[':status', '204']]), true);
  await answered(its);
  const payload = its.said(HEADERS, 1)?.payload ?? nothing;
  t.equal(payload[0], 0x20);
  t.same(new HeaderDecoder().decode(payload), [[':status', '204']]);
});

void t.test('GOAWAY lets running requests complete and refuses new ones', async (t) => {
  const its = scene(t);
  its.peer.write(requestHead);
  await answered(its);
  its.session.goAway();
  its.peer.write(head(get, END_STREAM, 3));
  await answered(its);
  const farewell = its.said(GOAWAY)?.payload;
  t.same([farewell?.readUInt32BE(0), farewell?.readUInt32BE(4)], [1, NO_ERROR]);
  t.notOk(its.streams.has(3));
  const { stream } = its.streams.get(1) ?? {};
  stream?.head(encodeHeaders([[':status', '200']]));
  stream?.end(text);
  await until(() => its.said(DATA, 1) !== undefined);
  its.peer.end();
  await until(its.isClosed);
  t.equal(its.streams.get(1)?.over, 'well');
});

void t.test('a client that disconnects ends its requests', async (t) => {
  const its = scene(t);
  its.peer.write(all(requestHead, head(post, 0, 3)));
  await answered(its);
  its.peer.write(numberFrame(RST_STREAM, 1, CANCEL));
  await answered(its);
  t.match(its.streams.get(1)?.over, { code: CANCEL });
  its.peer.end();
  await until(its.isClosed);
  t.match(its.streams.get(3)?.over, { sent: true });
  t.equal(
    its.all().some(({ type, flags }) => type === SETTINGS && flags === ACK),
    true,
  );
});
