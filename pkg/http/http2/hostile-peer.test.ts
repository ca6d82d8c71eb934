/**
 * Violations and abuse by servers (RFC 9113): the client-side cases of h2spec by section, and floods. Streams in memory
 * show everything that the client sends.
 */

import type { Duplex } from 'node:stream';
import t, { type Test } from 'tap';
import { deferred } from '#apimachinery/async/deferred.js';
import { Http2Session, type Http2Stream, type StreamFailure } from '#http/http2/client-session.js';
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
import { lastSent, type SentFrame, sentFrames } from '#http/http2/testing/sent-frames.js';
import { socketPair } from '#http/http2/testing/socket-pair.js';

const { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION } =
  frameType;
const { END_STREAM, END_HEADERS, PADDED, ACK } = frameFlag;
const { PROTOCOL_ERROR, FLOW_CONTROL_ERROR, STREAM_CLOSED, FRAME_SIZE_ERROR, COMPRESSION_ERROR, ENHANCE_YOUR_CALM } =
  resetCode;
const nothing = Buffer.alloc(0);
const status: HeaderField = [':status', '200'];
const block = (...fields: HeaderField[]) => encodeHeaders(fields);
const ok = block(status);
const headers = (fields: readonly HeaderField[], flags = 0) =>
  frame(HEADERS, END_HEADERS | flags, 1, encodeHeaders(fields));
const begun = headers([status]);
const whole = headers([status], END_STREAM);
const text = Buffer.from('test');
const many = (count: number, bytes: Buffer) => Buffer.concat(Array.from({ length: count }, () => bytes));
const all = (...parts: Buffer[]) => Buffer.concat(parts);
const farewell = (last: number, code: number = resetCode.NO_ERROR, streamId = 0) => {
  const payload = Buffer.alloc(8);
  payload.writeUInt32BE(last, 0);
  payload.writeUInt32BE(code, 4);
  return frame(GOAWAY, 0, streamId, payload);
};

interface Scene {
  readonly session: Http2Session;
  readonly peer: Duplex;
  readonly stream: Http2Stream;
  readonly fields: HeaderField[];
  readonly ended: Promise<StreamFailure | undefined>;
  readonly closed: Promise<Error | undefined>;
  /** The client's last frame of that type (and stream). */
  said(type: number, streamId?: number): SentFrame | undefined;
}

/** A running request on stream 1. */
async function scene(t: Test, greeting: Buffer = settingsFrame([])): Promise<Scene> {
  const [socket, peer] = socketPair();
  t.teardown(() => socket.destroy());
  const ready = deferred<void>();
  const closed = deferred<Error | undefined>();
  const ended = deferred<StreamFailure | undefined>();
  const parts: Buffer[] = [];
  peer.on('data', (chunk: Buffer) => parts.push(chunk));
  const session = new Http2Session({
    socket,
    streamWindowBytes: 100_000,
    sessionWindowBytes: 200_000,
    handler: { ready: ready.resolve, draining() {}, closed: closed.resolve },
  });
  peer.write(greeting);
  await Promise.race([ready.promise, closed.promise]);
  const fields: HeaderField[] = [];
  const stream = session.open(block([':method', 'POST'], [':path', '/']), nothing, false, {
    headers: (more) => fields.push(...more),
    data: (chunk) => stream.took(chunk.length),
    ended: ended.resolve,
  });
  // The peer has read everything before, so the next frames are new.
  await new Promise(setImmediate);
  const said = (type: number, streamId?: number) =>
    lastSent(sentFrames(Buffer.concat(parts).subarray(preface.length)), type, streamId);
  return { session, peer, stream, fields, ended: ended.promise, closed: closed.promise, said };
}

/** Frames that end the connection, with the client's error code. */
const fatal: Record<string, readonly [bytes: Buffer, code: number]> = {
  '4.2 DATA larger than agreed': [frame(DATA, 0, 1, Buffer.alloc(16_385)), FRAME_SIZE_ERROR],
  '4.2 HEADERS larger than agreed': [frame(HEADERS, END_HEADERS, 1, Buffer.alloc(16_385)), FRAME_SIZE_ERROR],
  '4.3 a block that cannot be read': [frame(HEADERS, END_HEADERS, 1, Buffer.from([0x40])), COMPRESSION_ERROR],
  '4.3 an index of nothing': [frame(HEADERS, END_HEADERS, 1, Buffer.from([0x80])), COMPRESSION_ERROR],
  '4.3 an index beyond the tables': [frame(HEADERS, END_HEADERS, 1, Buffer.from([0xbe])), COMPRESSION_ERROR],
  '4.3 PRIORITY within a block': [
    all(frame(HEADERS, 0, 1, ok), frame(PRIORITY, 0, 1, Buffer.alloc(5))),
    PROTOCOL_ERROR,
  ],
  '4.3 HEADERS of another stream within a block': [
    all(frame(HEADERS, 0, 1, ok), frame(HEADERS, END_HEADERS, 3, ok)),
    PROTOCOL_ERROR,
  ],
  'RFC 7541 4.2: a change of the table behind a field': [
    frame(HEADERS, END_HEADERS, 1, all(ok, Buffer.from([0x20]))),
    COMPRESSION_ERROR,
  ],
  '5.1 idle: DATA': [frame(DATA, END_STREAM, 2, text), PROTOCOL_ERROR],
  '5.1 idle: DATA of a client stream': [frame(DATA, END_STREAM, 3, text), PROTOCOL_ERROR],
  '5.1 idle: RST_STREAM': [numberFrame(RST_STREAM, 2, resetCode.CANCEL), PROTOCOL_ERROR],
  '5.1 idle: WINDOW_UPDATE': [numberFrame(WINDOW_UPDATE, 2, 100), PROTOCOL_ERROR],
  '5.1 idle: CONTINUATION': [frame(CONTINUATION, END_HEADERS, 2, ok), PROTOCOL_ERROR],
  '5.1 idle: HEADERS': [frame(HEADERS, END_HEADERS, 3, ok), PROTOCOL_ERROR],
  '5.1 closed: CONTINUATION behind a reset': [
    all(begun, numberFrame(RST_STREAM, 1, resetCode.CANCEL), frame(CONTINUATION, END_HEADERS, 1, ok)),
    PROTOCOL_ERROR,
  ],
  '5.1 closed: DATA': [all(whole, frame(DATA, END_STREAM, 1, text)), STREAM_CLOSED],
  '5.1 closed: padded DATA': [all(whole, frame(DATA, PADDED, 1, Buffer.from([1, 2, 0]))), STREAM_CLOSED],
  '5.1 closed: HEADERS': [all(whole, whole), STREAM_CLOSED],
  '5.1 closed: CONTINUATION': [all(whole, frame(CONTINUATION, END_HEADERS, 1, ok)), PROTOCOL_ERROR],
  '5.1.1 a stream of an even number': [frame(HEADERS, END_HEADERS, 2, ok), PROTOCOL_ERROR],
  '5.4.1 a malformed PING': [frame(PING, 0, 0, text), FRAME_SIZE_ERROR],
  '5.5 an unknown frame within a block': [all(frame(HEADERS, 0, 1, ok), frame(0x16, 0, 0, text)), PROTOCOL_ERROR],
  '6.1 DATA of no stream': [frame(DATA, END_STREAM, 0, text), PROTOCOL_ERROR],
  '6.1 DATA with too much padding': [
    all(begun, frame(DATA, END_STREAM | PADDED, 1, Buffer.from([6, 84, 101, 115, 116]))),
    PROTOCOL_ERROR,
  ],
  '6.1 padded DATA without its padding': [all(begun, frame(DATA, PADDED, 1, nothing)), FRAME_SIZE_ERROR],
  '6.2 HEADERS of no stream': [frame(HEADERS, END_HEADERS, 0, ok), PROTOCOL_ERROR],
  '6.2 HEADERS with too much padding': [
    frame(HEADERS, END_HEADERS | PADDED, 1, all(Buffer.from([99]), ok)),
    PROTOCOL_ERROR,
  ],
  '6.2 HEADERS without their priority': [
    frame(HEADERS, END_HEADERS | frameFlag.PRIORITY, 1, Buffer.alloc(4)),
    FRAME_SIZE_ERROR,
  ],
  '6.2 DATA within a block': [all(frame(HEADERS, 0, 1, ok), frame(DATA, 0, 1, text)), PROTOCOL_ERROR],
  '6.3 PRIORITY of no stream': [frame(PRIORITY, 0, 0, Buffer.alloc(5)), PROTOCOL_ERROR],
  '6.3 PRIORITY in part': [frame(PRIORITY, 0, 1, Buffer.alloc(4)), FRAME_SIZE_ERROR],
  '6.4 RST_STREAM of no stream': [numberFrame(RST_STREAM, 0, resetCode.CANCEL), PROTOCOL_ERROR],
  '6.4 RST_STREAM in part': [frame(RST_STREAM, 0, 1, Buffer.alloc(3)), FRAME_SIZE_ERROR],
  '6.5 an acknowledgement with content': [frame(SETTINGS, ACK, 0, Buffer.alloc(6)), FRAME_SIZE_ERROR],
  '6.5 SETTINGS of a stream': [frame(SETTINGS, 0, 1, Buffer.alloc(6)), PROTOCOL_ERROR],
  '6.5 SETTINGS in part': [frame(SETTINGS, 0, 0, Buffer.alloc(3)), FRAME_SIZE_ERROR],
  '6.5.2 ENABLE_PUSH of 1': [settingsFrame([[setting.ENABLE_PUSH, 1]]), PROTOCOL_ERROR],
  '6.5.2 ENABLE_PUSH of 2': [settingsFrame([[setting.ENABLE_PUSH, 2]]), PROTOCOL_ERROR],
  '6.5.2 a first window too large': [settingsFrame([[setting.INITIAL_WINDOW_SIZE, 2 ** 31]]), FLOW_CONTROL_ERROR],
  '6.5.2 frames too small': [settingsFrame([[setting.MAX_FRAME_SIZE, 16_383]]), PROTOCOL_ERROR],
  '6.5.2 frames too large': [settingsFrame([[setting.MAX_FRAME_SIZE, 2 ** 24]]), PROTOCOL_ERROR],
  '6.6 PUSH_PROMISE': [frame(PUSH_PROMISE, END_HEADERS, 1, all(Buffer.from([0, 0, 0, 2]), ok)), PROTOCOL_ERROR],
  '6.6 PUSH_PROMISE of no stream': [frame(PUSH_PROMISE, END_HEADERS, 0, nothing), PROTOCOL_ERROR],
  '6.7 PING of a stream': [frame(PING, 0, 1, Buffer.alloc(8)), PROTOCOL_ERROR],
  '6.7 PING of another length': [frame(PING, 0, 0, Buffer.alloc(9)), FRAME_SIZE_ERROR],
  '6.8 GOAWAY of a stream': [farewell(1, resetCode.NO_ERROR, 1), PROTOCOL_ERROR],
  '6.8 GOAWAY in part': [frame(GOAWAY, 0, 0, Buffer.alloc(7)), FRAME_SIZE_ERROR],
  '6.8 GOAWAY that takes an earlier one back': [all(farewell(1), farewell(3)), PROTOCOL_ERROR],
  '6.9 a window of the connection that does not grow': [numberFrame(WINDOW_UPDATE, 0, 0), PROTOCOL_ERROR],
  '6.9 WINDOW_UPDATE in part': [frame(WINDOW_UPDATE, 0, 1, Buffer.alloc(3)), FRAME_SIZE_ERROR],
  '6.9.1 a window of the connection too large': [
    many(2, numberFrame(WINDOW_UPDATE, 0, 2 ** 31 - 1)),
    FLOW_CONTROL_ERROR,
  ],
  '6.9.2 SETTINGS that make a window too large': [
    all(numberFrame(WINDOW_UPDATE, 1, 2 ** 31 - 1 - 65_535), settingsFrame([[setting.INITIAL_WINDOW_SIZE, 65_536]])),
    FLOW_CONTROL_ERROR,
  ],
  '6.10 CONTINUATION of no stream': [
    all(frame(HEADERS, 0, 1, ok), frame(CONTINUATION, END_HEADERS, 0, ok)),
    PROTOCOL_ERROR,
  ],
  '6.10 CONTINUATION behind an ended block': [all(begun, frame(CONTINUATION, END_HEADERS, 1, ok)), PROTOCOL_ERROR],
  '6.10 CONTINUATION behind an ended CONTINUATION': [
    all(frame(HEADERS, 0, 1, ok), many(2, frame(CONTINUATION, END_HEADERS, 1, nothing))),
    PROTOCOL_ERROR,
  ],
  '6.10 CONTINUATION behind DATA': [
    all(begun, frame(DATA, 0, 1, text), frame(CONTINUATION, END_HEADERS, 1, ok)),
    PROTOCOL_ERROR,
  ],
  'a flood of long CONTINUATIONs': [
    all(frame(HEADERS, 0, 1, ok), many(5, frame(CONTINUATION, 0, 1, Buffer.alloc(16_384)))),
    ENHANCE_YOUR_CALM,
  ],
  'a flood of empty CONTINUATIONs': [
    all(frame(HEADERS, 0, 1, ok), many(1000, frame(CONTINUATION, 0, 1, nothing))),
    ENHANCE_YOUR_CALM,
  ],
  'a short block that stands for long headers': [
    frame(
      HEADERS,
      END_HEADERS,
      1,
      all(ok, Buffer.from([0x40]), encodeHeaders([['x', 'v'.repeat(4000)]]).subarray(1), Buffer.alloc(10_000, 0xbe)),
    ),
    ENHANCE_YOUR_CALM,
  ],
};

void t.test('invalid frames end the connection', async (t) => {
  for (const [name, [bytes, code]] of Object.entries(fatal)) {
    const { peer, session, ended, closed, said } = await scene(t);
    peer.write(bytes);
    t.match(await closed, { message: /^HTTP\/2: / }, name);
    await new Promise(setImmediate);
    t.equal(said(GOAWAY)?.payload.readUInt32BE(4), code, `${name}: the code`);
    t.equal(session.closed, true);
    await ended;
  }
});

const afterBegin = (bytes: Buffer) => all(begun, bytes);

/** Frames that end one stream. */
const fatalForStream: Record<string, readonly [bytes: Buffer, code: number]> = {
  '5.1 closed: DATA behind a reset': [
    all(begun, numberFrame(RST_STREAM, 1, resetCode.CANCEL), frame(DATA, END_STREAM, 1, text)),
    STREAM_CLOSED,
  ],
  '5.1 closed: HEADERS behind a reset': [
    all(begun, numberFrame(RST_STREAM, 1, resetCode.CANCEL), whole),
    STREAM_CLOSED,
  ],
  '6.9 a window that does not grow': [numberFrame(WINDOW_UPDATE, 1, 0), PROTOCOL_ERROR],
  '6.9.1 a window too large': [many(2, numberFrame(WINDOW_UPDATE, 1, 2 ** 31 - 1)), FLOW_CONTROL_ERROR],
  '8.1 DATA before HEADERS': [frame(DATA, 0, 1, text), PROTOCOL_ERROR],
  '8.1 an end before HEADERS': [frame(DATA, END_STREAM, 1, nothing), PROTOCOL_ERROR],
  '8.1 empty padded DATA before HEADERS': [frame(DATA, PADDED, 1, Buffer.from([0])), PROTOCOL_ERROR],
  '8.1 trailers that are not the end': [afterBegin(headers([['x', 'y']])), PROTOCOL_ERROR],
  '8.1 second headers': [afterBegin(headers([status], END_STREAM)), PROTOCOL_ERROR],
  '8.1.1 less data than content-length': [
    all(headers([status, ['content-length', '5']]), frame(DATA, END_STREAM, 1, text)),
    PROTOCOL_ERROR,
  ],
  '8.1.1 more data than content-length': [
    all(headers([status, ['content-length', '3']]), frame(DATA, 0, 1, text)),
    PROTOCOL_ERROR,
  ],
  '8.1.1 no data in spite of content-length': [headers([status, ['content-length', '1']], END_STREAM), PROTOCOL_ERROR],
  '8.1.1 trailers before the content-length': [
    all(headers([status, ['content-length', '5']]), headers([['x', 'y']], END_STREAM)),
    PROTOCOL_ERROR,
  ],
  '8.1.1 two lengths': [
    headers([status, ['content-length', '1'], ['content-length', '2']], END_STREAM),
    PROTOCOL_ERROR,
  ],
  '8.2 a name in capitals': [headers([status, ['X-Test', 'ok']]), PROTOCOL_ERROR],
  '8.2.1 a name with a space': [headers([status, ['x test', 'ok']]), PROTOCOL_ERROR],
  '8.2.1 a name of nothing': [headers([status, ['', 'ok']]), PROTOCOL_ERROR],
  '8.2.1 a value of several lines': [headers([status, ['x', 'a\r\nb']]), PROTOCOL_ERROR],
  '8.2.1 a value with a control character': [headers([status, ['x', 'a\x01']]), PROTOCOL_ERROR],
  '8.2.2 connection': [headers([status, ['connection', 'keep-alive']]), PROTOCOL_ERROR],
  '8.2.2 transfer-encoding': [headers([status, ['transfer-encoding', 'chunked']]), PROTOCOL_ERROR],
  '8.3 an unknown pseudo-header': [headers([status, [':test', 'ok']]), PROTOCOL_ERROR],
  '8.3 a pseudo-header of requests': [headers([status, [':method', 'GET']]), PROTOCOL_ERROR],
  '8.3 a pseudo-header in trailers': [
    afterBegin(all(frame(DATA, 0, 1, text), headers([status], END_STREAM))),
    PROTOCOL_ERROR,
  ],
  '8.3 a pseudo-header behind others': [headers([['x', 'y'], status]), PROTOCOL_ERROR],
  '8.3.2 no status': [headers([['x', 'y']]), PROTOCOL_ERROR],
  '8.3.2 no headers at all': [headers([]), PROTOCOL_ERROR],
  '8.3.2 two': [headers([status, status]), PROTOCOL_ERROR],
  '8.3.2 no number': [headers([[':status', 'ok']]), PROTOCOL_ERROR],
  '8.6 another protocol': [headers([[':status', '101']]), PROTOCOL_ERROR],
  '8.1 informational headers as the end': [headers([[':status', '103']], END_STREAM), PROTOCOL_ERROR],
};

void t.test('some violations end only their stream', async (t) => {
  for (const [name, [bytes, code]] of Object.entries(fatalForStream)) {
    const { peer, session, ended, said } = await scene(t);
    peer.write(bytes);
    t.ok(await ended, name);
    await answered(peer, said);
    t.equal(said(RST_STREAM, 1)?.payload.readUInt32BE(0), code, `${name}: the code`);
    t.equal(said(GOAWAY), undefined, `${name}: the connection goes on`);
    t.equal(session.closed, false);
    session.destroy(undefined);
  }
});

/** Frames without effect. */
const harmless: Record<string, Buffer> = {
  '4.1 an unknown type': frame(0x16, 0, 0, Buffer.alloc(8)),
  '4.1 undefined flags': frame(PING, 0x16, 0, Buffer.alloc(8)),
  '4.1 the reserved bit': frame(PING, 0, 2 ** 31, Buffer.alloc(8)),
  '4.2 DATA as large as agreed': all(begun, frame(DATA, 0, 1, Buffer.alloc(16_384))),
  '5.3 a stream that depends on itself': frame(PRIORITY, 0, 1, Buffer.from([0, 0, 0, 1, 0])),
  '5.3 PRIORITY of an idle stream': frame(PRIORITY, 0, 99, Buffer.alloc(5)),
  '6.5.2 an unknown setting': settingsFrame([[0xff, 1]]),
  '6.5.2 a setting twice': settingsFrame([
    [setting.INITIAL_WINDOW_SIZE, 2 ** 31 - 1],
    [setting.INITIAL_WINDOW_SIZE, 1],
  ]),
  '6.5.3 an acknowledgement of nothing': frame(SETTINGS, ACK, 0, nothing),
  '6.7 an acknowledged PING that was not sent': frame(PING, ACK, 0, Buffer.from('12345678')),
  '8.1 informational headers': many(
    3,
    headers([
      [':status', '103'],
      ['link', 'x'],
    ]),
  ),
  'empty DATA': all(begun, many(10_000, frame(DATA, 0, 1, nothing))),
  'DATA of nothing but padding': all(
    begun,
    many(600, frame(DATA, PADDED, 1, all(Buffer.from([255]), Buffer.alloc(255)))),
  ),
  'a flood of PINGs whose answers are read': many(50_000, frame(PING, 0, 0, Buffer.alloc(8))),
  'a flood of SETTINGS whose answers are read': many(20_000, settingsFrame([[setting.INITIAL_WINDOW_SIZE, 7]])),
};

/** Waits until everything sent so far is processed. */
async function answered(peer: Duplex, said: Scene['said']): Promise<void> {
  const payload = Buffer.from('the last');
  peer.write(frame(PING, 0, 0, payload));
  while (said(PING)?.payload.equals(payload) !== true) await new Promise(setImmediate);
}

void t.test('frames without effect are ignored', async (t) => {
  for (const [name, bytes] of Object.entries(harmless)) {
    const { peer, session, fields, ended, said } = await scene(t);
    for (let at = 0; at < bytes.length; at += 16_384) {
      peer.write(bytes.subarray(at, at + 16_384));
      await new Promise(setImmediate);
    }
    await answered(peer, said);
    t.equal(said(GOAWAY), undefined, `${name}: the connection goes on`);
    const end = fields.some(([, value]) => value === '200') ? frame(DATA, END_STREAM, 1, nothing) : whole;
    peer.write(end);
    t.equal(await ended, undefined, name);
    session.destroy(undefined);
  }
});

void t.test('3.4 invalid prefaces end the connection', async (t) => {
  const rows: Record<string, readonly [Buffer, number]> = {
    'HTTP/1.1': [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), FRAME_SIZE_ERROR],
    PING: [frame(PING, 0, 0, Buffer.alloc(8)), PROTOCOL_ERROR],
    DATA: [frame(DATA, 0, 1, text), PROTOCOL_ERROR],
    'an acknowledgement': [frame(SETTINGS, ACK, 0, nothing), PROTOCOL_ERROR],
    'an unknown frame': [frame(0x16, 0, 0, nothing), PROTOCOL_ERROR],
  };
  for (const [name, [greeting, code]] of Object.entries(rows)) {
    const { closed, said, ended } = await scene(t, greeting);
    t.match(await closed, { message: /^HTTP\/2: / }, name);
    await new Promise(setImmediate);
    t.equal(said(GOAWAY)?.payload.readUInt32BE(4), code, `${name}: the code`);
    t.match(await ended, { sent: false });
  }
});

void t.test('late frames for a cancelled stream are ignored', async (t) => {
  const { peer, session, stream, said } = await scene(t);
  stream.reset(resetCode.CANCEL);
  peer.write(all(begun, frame(DATA, END_STREAM, 1, text), numberFrame(WINDOW_UPDATE, 1, 5)));
  await answered(peer, said);
  t.equal(said(GOAWAY), undefined);
  t.equal(said(RST_STREAM, 1)?.payload.readUInt32BE(0), resetCode.CANCEL);
  session.destroy(undefined);
});

void t.test('a PING is answered with its payload', async (t) => {
  const { peer, session, said } = await scene(t);
  await answered(peer, said);
  t.match(said(PING), { flags: ACK, streamId: 0 });
  session.destroy(undefined);
});

void t.test('a peer that does not read replies is disconnected', async (t) => {
  for (const [name, requestFrame] of Object.entries({
    PING: frame(PING, 0, 0, Buffer.alloc(8)),
    SETTINGS: settingsFrame([]),
    'DATA for a reset stream': frame(DATA, 0, 1, nothing),
  })) {
    const { peer, session, closed } = await scene(t);
    peer.write(all(begun, numberFrame(RST_STREAM, 1, resetCode.CANCEL)));
    peer.pause();
    const flood = many(1000, requestFrame);
    for (let i = 0; i < 100 && !session.closed; i++) {
      peer.write(flood);
      await new Promise(setImmediate);
    }
    t.match(await closed, { message: /too many unread replies/ }, name);
  }
});
