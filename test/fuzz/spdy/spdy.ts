/**
 * Feeds broken frames to SPDY sessions. The session must close with its connection, including all streams; it must
 * write well-formed frames only; and its behavior must not depend on how the network splits the frames.
 */

import type { Duplex } from 'node:stream';
import { deflateSync } from 'node:zlib';
import { messageOf } from '#apimachinery/errors/message.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { duplexPair } from '#daemon/streaming/duplex-pair.js';
import {
  controlFrame,
  dataHead,
  FrameReader,
  frameType,
  goAwayStatus,
  uint32s,
} from '#daemon/streaming/spdy/frames.js';
import { HeaderReader, HeaderWriter, type SpdyHeaders, spdyDictionary } from '#daemon/streaming/spdy/headers.js';
import { SpdySession, type SpdyStream } from '#daemon/streaming/spdy/session.js';
import { FuzzFailure } from '#test/fuzz/codec.js';
import { below, mutate, pick, type Random } from '#test/fuzz/mutate.js';

const controlTypes = Object.values(frameType);
const oddNumbers = [0, 1, 2, 7, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff] as const;

const number = (random: Random) => (random() < 0.5 ? below(random, 20) : pick(random, oddNumbers));
const noise = (random: Random, length: number) =>
  Buffer.from(Array.from({ length: below(random, length) }, () => below(random, 256)));

/**
 * A conversation of SPDY frames, more or less valid. Pure: the caller provides randomness. `ids` is 1 for a client's
 * streams and 0 for a server's.
 */
function conversation(random: Random, ids: 0 | 1): Buffer {
  const writer = new HeaderWriter();
  const frames: Buffer[] = [];
  let nextId = ids === 1 ? 1 : 2;
  for (let n = 1 + below(random, 40); n > 0; n--) {
    // Usually an earlier stream: its own, or one that the other side opened.
    const id = random() < 0.9 ? 1 + below(random, nextId + 2) : number(random);
    frames.push(pick(random, [opening, data, data, data, windows, ping, ends, anyControl])(id));
  }
  return Buffer.concat(frames);

  function opening(id: number): Buffer {
    const flags = random() < 0.9 ? 0 : below(random, 4);
    const block = headerBlock();
    if (random() < 0.2) return controlFrame(frameType.synReply, flags, Buffer.concat([uint32s(id), block]));
    if (random() < 0.1) return controlFrame(frameType.headers, flags, Buffer.concat([uint32s(id), block]));
    const own = random() < 0.97 ? nextId : id;
    nextId += 2;
    return controlFrame(frameType.synStream, flags, Buffer.concat([uint32s(own, 0), Buffer.alloc(2), block]));
  }

  function headerBlock(): Buffer {
    const honest = random() < 0.95;
    if (!honest)
      return random() < 0.5 ? noise(random, 40) : deflateSync(noise(random, 40), { dictionary: spdyDictionary });
    return writer.encode({ streamtype: pick(random, ['data', 'error', 'stdin']), port: String(below(random, 70_000)) });
  }

  function data(id: number): Buffer {
    const bytes = random() < 0.1 ? Buffer.alloc(below(random, 8000), id) : noise(random, 40);
    return Buffer.concat([dataHead(id, random() < 0.1, bytes.length), bytes]);
  }

  function windows(id: number): Buffer {
    if (random() < 0.5)
      return controlFrame(frameType.windowUpdate, 0, uint32s(random() < 0.5 ? 0 : id, number(random)));
    return controlFrame(frameType.settings, 0, uint32s(1, pick(random, [7, 7, 4]), number(random)));
  }

  function ping(): Buffer {
    return controlFrame(frameType.ping, 0, uint32s(number(random)));
  }

  function ends(id: number): Buffer {
    if (random() < 0.1) return controlFrame(frameType.goAway, 0, uint32s(id, 0));
    return controlFrame(frameType.rstStream, 0, uint32s(id, 1 + below(random, 10)));
  }

  function anyControl(id: number): Buffer {
    const type = random() < 0.9 ? pick(random, [10, ...controlTypes]) : below(random, 0x1_0000);
    const body = random() < 0.5 ? noise(random, 40) : uint32s(id, number(random), number(random));
    // A violation of the connection's rules hides the following frames.
    return random() < 0.3 ? controlFrame(type, below(random, 4), body) : controlFrame(10, 0, body);
  }
}

/** The same bytes in parts of one to `most` bytes. */
function* parts(bytes: Buffer, random: Random, most: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + below(random, most);
    yield bytes.subarray(at, at + length);
    at += length;
  }
}

type Role = 'client' | 'server';
/** A use of a stream. */
type Use = (stream: SpdyStream) => void;

export interface SpdyFuzzResult {
  readonly inputs: number;
  /** Number of streams that broken connections still opened. */
  readonly streams: number;
  /** Inputs refused as connection errors. */
  readonly refused: number;
}

/** The observed behavior of a session. */
interface Outcome {
  readonly streams: readonly (readonly [number, SpdyHeaders])[];
  readonly pings: readonly number[];
  /** The status of the GOAWAY; undefined if none could be sent. */
  readonly goAway: number | undefined;
}

const reads: Use = (stream) => void stream.resume();
/** Other actions of callers: writing, pausing, and cancelling. */
const varied =
  (random: Random): Use =>
  (stream) => {
    const leave = () => void stream.destroy();
    pick<Use>(random, [
      () => stream.pipe(stream),
      () => stream.resume().end(Buffer.alloc(below(random, 100_000))),
      () => stream.once('data', leave),
      () => stream.once('end', leave).resume(),
      () => setImmediate(leave),
      leave,
    ])(stream);
  };

/** Mutates frames while `goOn` returns true; it is called before each input. Throws a FuzzFailure. */
export async function fuzzSpdy(seed: number, goOn: (inputs: number) => boolean): Promise<SpdyFuzzResult> {
  const random = seededRandom(seed);
  const result = { inputs: 0, streams: 0, refused: 0 };
  for (; goOn(result.inputs); result.inputs++) {
    const role = pick<Role>(random, ['client', 'server']);
    const ids = role === 'server' ? 1 : 0;
    const honest = conversation(random, ids);
    const input = random() < 0.4 ? honest : mutate('bytes', honest, random, conversation(random, ids));
    try {
      const whole = await outcomeOf(role, [input], reads);
      const cut = await outcomeOf(role, [...parts(input, random, pick(random, [1, 10, 1000]))], reads);
      compare(whole, cut);
      await outcomeOf(role, [...parts(input, random, 1000)], varied(random));
      result.streams += whole.streams.length;
      if (whole.goAway === goAwayStatus.protocolError) result.refused++;
    } catch (error) {
      throw new FuzzFailure(`as ${role}: ${messageOf(error)}`, input, error);
    }
  }
  return result;
}

function compare(a: Outcome, b: Outcome): void {
  if (JSON.stringify(a) !== JSON.stringify(b)) {
    throw new Error(`depends on how the bytes are cut: ${JSON.stringify(a)}, ${JSON.stringify(b)}`);
  }
}

/**
 * The behavior of a session for these bytes, followed by the end of the connection. Never resolves if it does not
 * close.
 */
async function outcomeOf(role: Role, chunks: readonly Buffer[], use: Use): Promise<Outcome> {
  const [connection, far] = duplexPair();
  const written = readFrames(connection);
  const session = new SpdySession(far, role);
  const streams: SpdyStream[] = [];
  const endings: Promise<void>[] = [];
  const add = (stream: SpdyStream) => {
    streams.push(stream);
    endings.push(new Promise((resolve) => stream.once('close', resolve)));
    use(stream);
  };
  session.on('stream', add);
  const closing = new Promise<void>((resolve) => session.once('close', resolve));
  if (role === 'client') for (let n = 0; n < 3; n++) add(session.open({ streamtype: 'data' }));
  for (const chunk of chunks) connection.write(chunk);
  connection.end();
  await closing;
  await Promise.all(endings);
  const { pings, goAway } = await written;
  return { streams: streams.map(({ id, headers }) => [id, headers]), pings, goAway };
}

/** The frames that the session writes. Rejects for invalid frames. */
async function readFrames(connection: Duplex): Promise<Pick<Outcome, 'pings' | 'goAway'>> {
  const reader = new FrameReader();
  const headers = new HeaderReader();
  const pings: number[] = [];
  let goAway: number | undefined;
  for await (const chunk of connection as AsyncIterable<Buffer>) {
    for (const frame of reader.read(chunk)) {
      if (goAway !== undefined) throw new Error('a frame after GOAWAY');
      if (frame.kind === 'data') continue;
      const { type, body } = frame;
      if (type === frameType.ping) pings.push(body.readUInt32BE(0));
      else if (type === frameType.goAway) goAway = body.readUInt32BE(4);
      else if (type === frameType.synStream || type === frameType.synReply) {
        const block = body.subarray(type === frameType.synReply ? 4 : 10);
        if ((await headers.decode(block)) === undefined) throw new Error('a block of headers that is none');
      }
    }
  }
  headers.close();
  return { pings, goAway };
}
