/** Protocol violations of a peer and the replies to them; frames are written and parsed by hand. */

import type { Duplex } from 'node:stream';
import { deflateSync } from 'node:zlib';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { duplexPair } from '#daemon/streaming/duplex-pair.js';
import { controlFrame, dataHead, type Frame, FrameReader, frameType, uint32s } from '#daemon/streaming/spdy/frames.js';
import { HeaderReader, HeaderWriter, spdyDictionary } from '#daemon/streaming/spdy/headers.js';
import { SpdySession, type SpdySessionOptions, type SpdyStream } from '#daemon/streaming/spdy/session.js';

interface Peer {
  readonly connection: Duplex;
  readonly session: SpdySession;
  readonly streams: SpdyStream[];
  readonly frames: Frame[];
  readonly writer: HeaderWriter;
  syn(id: number, block?: Buffer, flags?: number): void;
  control(type: number, body: Buffer, flags?: number): void;
  data(id: number, bytes: Buffer, fin?: boolean): void;
  /** Waits for a control frame of this type and removes it. */
  next(type: number): Promise<Buffer>;
  closed(): Promise<void>;
}

function peer(options: SpdySessionOptions & { readonly reads?: boolean } = {}): Peer {
  const [connection, far] = duplexPair();
  const session = new SpdySession(far, 'server', options);
  const streams: SpdyStream[] = [];
  session.on('stream', (stream) => streams.push(stream));
  const frames: Frame[] = [];
  const reader = new FrameReader();
  connection.on('error', () => undefined);
  if (options.reads !== false) {
    connection.on('data', (chunk: Buffer) => {
      frames.push(...reader.read(chunk));
    });
  }
  const writer = new HeaderWriter();
  const self: Peer = {
    connection,
    session,
    streams,
    frames,
    writer,
    syn: (id, block = writer.encode({ streamtype: 'data' }), flags = 0) =>
      self.control(frameType.synStream, Buffer.concat([uint32s(id, 0), Buffer.alloc(2), block]), flags),
    control: (type, body, flags = 0) => void connection.write(controlFrame(type, flags, body)),
    data: (id, bytes, fin = false) => void connection.write(Buffer.concat([dataHead(id, fin, bytes.length), bytes])),
    async next(type) {
      for (;;) {
        const at = frames.findIndex((frame) => frame.kind === 'control' && frame.type === type);
        const [match] = at < 0 ? [] : frames.splice(at, 1);
        if (match?.kind === 'control') return match.body;
        await realClock.sleep(1);
      }
    },
    async closed() {
      while (!session.closed) await realClock.sleep(1);
    },
  };
  return self;
}

/** Compresses like zlib, as one stream over all blocks. */
const compressed = (plain: Buffer) => deflateSync(plain, { dictionary: spdyDictionary });
const block = (count: number, ...texts: string[]) =>
  Buffer.concat([uint32s(count), ...texts.flatMap((text) => [uint32s(text.length), Buffer.from(text)])]);

t.test('violations of the connection’s rules end it with GOAWAY', async (t) => {
  const reply = Buffer.concat([uint32s(1), Buffer.from('deadbeef', 'hex')]);
  const rows: Record<string, (p: Peer) => void> = {
    'a stream of the server’s own ids': (p) => p.syn(2),
    'stream 0': (p) => p.syn(0),
    'an id that was used': (p) => [p.syn(3), p.syn(3)],
    'an id before one that was used': (p) => [p.syn(5), p.syn(3)],
    'headers that do not inflate': (p) => p.syn(1, Buffer.from('deadbeef', 'hex')),
    'a reply that does not inflate': (p) => p.control(frameType.synReply, reply),
    'a block that inflates to a megabyte': (p) => p.syn(1, compressed(Buffer.alloc(1 << 20))),
    'a block after the end of the compressed stream': (p) => [p.syn(1, compressed(block(0))), p.syn(3)],
    'another version': (p) => p.connection.write(Buffer.from('8002000100000000', 'hex')),
    'a control frame of 16 MB': (p) => p.connection.write(Buffer.from('8003000100ffffff', 'hex')),
    'a stream frame that ends early': (p) => p.control(frameType.synStream, uint32s(1)),
    'an empty reset': (p) => p.control(frameType.rstStream, Buffer.alloc(0)),
    'an empty ping': (p) => p.control(frameType.ping, Buffer.alloc(0)),
    'settings that lie about their number': (p) => p.control(frameType.settings, uint32s(5, 7, 1)),
    'a window of 4 GB': (p) => p.control(frameType.settings, uint32s(1, 7, 0xffff_ffff)),
    'a connection window over 2 GB': (p) => [
      p.control(frameType.windowUpdate, uint32s(0, 0x7fff_ffff)),
      p.control(frameType.windowUpdate, uint32s(0, 0x7fff_ffff)),
    ],
  };
  for (const [name, send] of Object.entries(rows)) {
    const p = peer();
    send(p);
    await p.closed();
    t.equal((await p.next(frameType.goAway)).readUInt32BE(4), 1, name);
  }
});

t.test('violations of a stream’s rules reset only the stream', async (t) => {
  const rows: Record<string, [number, (p: Peer) => void]> = {
    'a name that is not in lower case': [1, (p) => p.syn(1, compressed(block(1, 'Port', '80')))],
    'a name twice': [1, (p) => p.syn(1, compressed(block(2, 'port', '80', 'port', '81')))],
    'an empty name': [1, (p) => p.syn(1, compressed(block(1, '', '80')))],
    'lengths beyond the block': [1, (p) => p.syn(1, compressed(Buffer.concat([uint32s(1, 0xffff_fff0)])))],
    'four billion headers': [1, (p) => p.syn(1, compressed(uint32s(0xffff_ffff)))],
    'a stream in one direction': [3, (p) => p.syn(1, undefined, 2)],
    'data for a stream that never was': [2, (p) => p.data(1, Buffer.from('x'))],
    'data after the end': [9, (p) => [p.syn(1), p.data(1, Buffer.from('x'), true), p.data(1, Buffer.from('y'))]],
    'a stream’s window over 2 GB': [7, (p) => [p.syn(1), p.control(frameType.windowUpdate, uint32s(1, 0x7fff_ffff))]],
  };
  for (const [name, [status, send]] of Object.entries(rows)) {
    const p = peer();
    send(p);
    t.same([...(await p.next(frameType.rstStream))], [...uint32s(1, status)], name);
    p.control(frameType.ping, uint32s(77));
    t.equal((await p.next(frameType.ping)).readUInt32BE(0), 77, 'the session continues');
    p.session.close();
  }
});

t.test('streams are limited, may be refused, and are released at their end', async (t) => {
  const p = peer({ maxStreams: 2, admit: (headers) => headers['streamtype'] === 'data' });
  p.syn(1, p.writer.encode({ streamtype: 'other' }));
  t.same([...(await p.next(frameType.rstStream))], [...uint32s(1, 3)]);
  for (const id of [3, 5, 7]) p.syn(id);
  t.same([...(await p.next(frameType.rstStream))], [...uint32s(7, 3)]);
  p.streams[0]?.destroy();
  t.same([...(await p.next(frameType.rstStream))], [...uint32s(3, 5)]);
  p.syn(9);
  while (p.streams.length < 3) await realClock.sleep(1);
  p.session.close();
});

t.test('frames may arrive byte by byte', async (t) => {
  const p = peer();
  const frame = controlFrame(
    frameType.synStream,
    0,
    Buffer.concat([uint32s(1, 0), Buffer.alloc(2), p.writer.encode({ a: 'b' })]),
  );
  for (const byte of [...frame, ...dataHead(1, true, 3), 1, 2, 3]) p.connection.write(Buffer.from([byte]));
  while (p.streams.length === 0) await realClock.sleep(1);
  const parts: number[] = [];
  for await (const part of p.streams[0] as AsyncIterable<Buffer>) parts.push(...part);
  t.same(parts, [1, 2, 3]);
  t.equal(p.streams[0]?.headers['a'], 'b');
  p.session.close();
});

t.test('a peer that does not read replies is not read', async (t) => {
  const p = peer({ reads: false });
  const requestCount = 50_000;
  for (let i = 0; i < requestCount; i++) p.control(frameType.ping, uint32s(2 * i + 1));
  await realClock.sleep(20);
  t.ok(p.connection.writableLength > 300_000, 'most frames wait at the peer');
  let answers = 0;
  const reader = new FrameReader();
  p.connection.on('data', (chunk: Buffer) => {
    for (const _ of reader.read(chunk)) answers += 1;
  });
  while (answers < requestCount) await realClock.sleep(1);
  p.session.close();
});

t.test('unread frames of one byte count with the memory that they take', async (t) => {
  const p = peer({ maxUnreadBytes: 100_000 });
  const count = 50_000;
  p.syn(1);
  for (let i = 0; i < count; i++) p.data(1, Buffer.from('x'), i === count - 1);
  while (p.streams.length === 0 || p.connection.writableLength === 0) await realClock.sleep(1);
  const [stream] = p.streams;
  for (let before = -1; before !== stream?.readableLength; ) {
    before = stream?.readableLength ?? 0;
    await realClock.sleep(5);
  }
  const unread = stream?.readableLength ?? 0;
  t.ok(unread > 500 && unread < 1000, `${unread} bytes are unread`);
  let readBytes = 0;
  for await (const chunk of stream ?? []) readBytes += (chunk as Buffer).length;
  t.equal(readBytes, count, 'all arrive at a reader');
  p.session.close();
});

t.test('consumed bytes are granted only to a peer that keeps windows', async (t) => {
  const p = peer({ maxUnreadBytes: 100_000 });
  const granted = () => p.frames.filter((frame) => frame.kind === 'control' && frame.type === frameType.windowUpdate);
  p.syn(1);
  for (let i = 0; i < 10; i++) p.data(1, Buffer.alloc(32 * 1024));
  while (p.streams.length === 0 || p.connection.writableLength === 0) await realClock.sleep(1);
  const [stream] = p.streams;
  t.ok((stream?.readableLength ?? 0) <= 100_000 + 64 * 1024, 'unread data is bounded');
  let readBytes = 0;
  stream?.on('data', (chunk: Buffer) => {
    readBytes += chunk.length;
  });
  while (readBytes < 10 * 32 * 1024) await realClock.sleep(1);
  t.equal(granted().length, 0, 'this peer does not expect a WINDOW_UPDATE');
  p.control(frameType.settings, uint32s(1, 7, 64 * 1024));
  const sums = { 0: 0, 1: 0 };
  const until = async (bytes: number) => {
    while (sums[0] < bytes || sums[1] < bytes) {
      const body = await p.next(frameType.windowUpdate);
      sums[body.readUInt32BE(0) as 0 | 1] += body.readUInt32BE(4);
    }
    t.same(sums, { 0: bytes, 1: bytes });
  };
  await until(10 * 32 * 1024);
  p.data(1, Buffer.alloc(32 * 1024));
  await until(11 * 32 * 1024);
  p.session.close();
});

t.test('windows of a peer that keeps them are respected', async (t) => {
  const p = peer();
  const received = () => p.frames.reduce((sum, f) => sum + (f.kind === 'data' ? f.bytes.length : 0), 0);
  const until = async (bytes: number) => {
    while (received() < bytes) await realClock.sleep(1);
    await realClock.sleep(5);
    t.equal(received(), bytes);
  };
  p.control(frameType.settings, uint32s(1, 7, 1000));
  p.syn(1);
  while (p.streams.length === 0) await realClock.sleep(1);
  p.streams[0]?.end(Buffer.alloc(10_000));
  await until(1000);
  p.control(frameType.windowUpdate, uint32s(1, 500));
  await until(1500);
  // A new initial window also changes open streams (section 2.6.8).
  p.control(frameType.settings, uint32s(1, 7, 3000));
  await until(3500);
  p.control(frameType.windowUpdate, uint32s(0, 100));
  p.control(frameType.windowUpdate, uint32s(1, 100_000));
  await until(3600);
  p.control(frameType.windowUpdate, uint32s(0, 100_000));
  await until(10_000);
  t.ok(p.frames.some((frame) => frame.kind === 'data' && frame.fin));
  p.session.close();
});

t.test('random frames neither crash nor hang a session', async (t) => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  t.comment(`seed ${seed}`);
  const fraction = seededRandom(seed);
  const random = (below: number) => Math.floor(fraction() * below);
  for (let round = 0; round < 300; round++) {
    const p = peer({ maxStreams: 8 });
    for (let i = 0; i < 30; i++) {
      const bytes = Buffer.from(Array.from({ length: random(40) }, () => random(256)));
      const kind = random(5);
      if (kind === 0) p.syn(1 + random(20));
      else if (kind === 1) p.data(random(20), bytes, random(2) === 0);
      else if (kind === 2) p.control(random(11), bytes, random(4));
      else if (kind === 3)
        p.control([3, 6, 7, 9][random(4)] ?? 3, uint32s(random(20), random(10)).subarray(0, 4 + random(5)));
      else p.streams[random(8)]?.write(bytes);
    }
    p.connection.end();
    await p.closed();
    t.equal(p.streams.filter((stream) => !stream.destroyed && !stream.readableEnded && !stream.remoteEnded).length, 0);
  }
});

t.test('closing a reader during a call settles the call', async (t) => {
  const reader = new HeaderReader();
  const decoded = reader.decode(new HeaderWriter().encode({ a: 'b' }));
  reader.close();
  await decoded.catch(() => undefined);
  await t.rejects(reader.decode(Buffer.alloc(1)));
});
