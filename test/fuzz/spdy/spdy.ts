/**
 * Feeds broken frames to SPDY sessions. Whatever they are, the session closes once its connection ends, and all its
 * streams with it; it writes well-formed frames only; and what it does with frames does not depend on how the network
 * cuts them.
 */

import type { Duplex } from 'node:stream';
import { messageOf } from '#apimachinery/errors/message.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { duplexPair } from '#daemon/streaming/duplex-pair.js';
import { FrameReader, frameType, goAwayStatus } from '#daemon/streaming/spdy/frames.js';
import { HeaderReader, type SpdyHeaders } from '#daemon/streaming/spdy/headers.js';
import { SpdySession, type SpdyStream } from '#daemon/streaming/spdy/session.js';
import { FuzzFailure } from '#test/fuzz/codec.js';
import { below, mutate, pick, type Random } from '#test/fuzz/mutate.js';
import { conversation, parts } from '#test/fuzz/spdy/frames.js';

type Role = 'client' | 'server';
/** What is done with a stream. */
type Use = (stream: SpdyStream) => void;

export interface SpdyFuzzResult {
  readonly inputs: number;
  /** How many streams broken connections opened all the same. */
  readonly streams: number;
  /** Inputs that were told to break the rules of the connection. */
  readonly refused: number;
}

/** What a session has made of its input. */
interface Outcome {
  readonly streams: readonly (readonly [number, SpdyHeaders])[];
  readonly pings: readonly number[];
  /** The status of the GOAWAY; undefined when none could be sent. */
  readonly goAway: number | undefined;
}

const reads: Use = (stream) => void stream.resume();
/** Everything else that callers do: they write, stop reading, and break off. */
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

/** Breaks frames for as long as `goOn`, which hears of each input before it is tried, says so. Throws a FuzzFailure. */
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

/** What a session makes of these bytes, after which the connection ends. Never resolves when it does not close. */
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

/** What the session writes to the end of the connection. Rejects for frames that break the rules. */
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
