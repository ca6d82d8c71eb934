/**
 * Feeds the etcd client mutated frames of a real server. The session must not throw, must report the end of each stream
 * exactly once and nothing after it, must send well-formed frames, and must end with its connection.
 */

import type { Duplex } from 'node:stream';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { GrpcError } from '#http/grpc/status.js';
import { Http2Session } from '#http/http2/client-session.js';
import { frameType, preface, resetCode } from '#http/http2/frames.js';
import { encodeHeaders } from '#http/http2/hpack.js';
import { socketPair } from '#http/http2/testing/socket-pair.js';
import { callStream } from '#storage/etcd/grpc/call.js';
import { bytesOf, framesOf, mutateFrames, type RawFrame } from '#test/fuzz/http2/mutate.js';
import { below, pick, type Random } from '#test/fuzz/mutate.js';

export interface Http2FuzzResult {
  readonly inputs: number;
  /** Inputs after which the client closed the connection, by error code. */
  readonly left: ReadonlyMap<number, number>;
  /** Streams with a complete response. */
  readonly answered: number;
}

/** The maximum number of streams in the recording of a connection; further ones would only wait. */
const streamsPerInput = 6;
const knownCodes = new Set<number>(Object.values(resetCode));
const head = encodeHeaders([
  [':method', 'POST'],
  [':path', '/etcdserverpb.KV/Range'],
]);

/** Throws an Error with the first failing input. `more`: whether to continue after that many inputs. */
export async function fuzzHttp2(
  seed: number,
  recordings: readonly Buffer[],
  more: (inputs: number) => boolean,
): Promise<Http2FuzzResult> {
  const random = seededRandom(seed);
  const seeds = recordings.map(framesOf).filter((frames) => frames.length > 0);
  const [first, ...others] = seeds;
  if (first === undefined) throw new TypeError('nothing was recorded');
  const input = () => {
    const frames = pick(random, [first, ...others]);
    // A prefix of a recording: mostly connections that fail after a while.
    return frames.slice(0, 2 + below(random, 80));
  };
  return fuzzConnections(random, more, { input, feed });
}

interface Fuzzed {
  /** The valid beginning of a connection. */
  readonly input: () => readonly RawFrame[];
  /** Throws for a violated property; returns the error code with which the other side closed. */
  readonly feed: (
    input: Buffer,
    random: Random,
  ) => Promise<{ readonly answered: number; readonly code: number | undefined }>;
}

/** Throws an Error with the first failing input. */
export async function fuzzConnections(
  random: Random,
  more: (inputs: number) => boolean,
  { feed, input: inputOf }: Fuzzed,
): Promise<Http2FuzzResult> {
  const left = new Map<number, number>();
  let inputs = 0;
  let answered = 0;
  for (; more(inputs); inputs++) {
    const input = bytesOf(mutateFrames(inputOf(), random));
    try {
      const outcome = await feed(input, random);
      answered += outcome.answered;
      if (outcome.code !== undefined) left.set(outcome.code, (left.get(outcome.code) ?? 0) + 1);
    } catch (error) {
      throw new Error(`after ${inputs} inputs: ${String(error)}\n${input.toString('base64')}`, { cause: error });
    }
  }
  return { inputs, left, answered };
}

async function feed(input: Buffer, random: Random): Promise<{ answered: number; code: number | undefined }> {
  const [socket, peer] = socketPair();
  const said: Buffer[] = [];
  peer.on('data', (chunk: Buffer) => said.push(chunk));
  const problems: string[] = [];
  let answered = 0;
  let closed = 0;
  const session = new Http2Session({
    socket,
    streamWindowBytes: 2 ** 16,
    sessionWindowBytes: 2 ** 17,
    handler: { ready() {}, draining() {}, closed: () => closed++ },
  });
  const ends = Array.from({ length: streamsPerInput }, () => 0);
  for (let i = 0; i < streamsPerInput; i++) {
    const stream = session.open(head, Buffer.alloc(below(random, 3000)), random() < 0.7, {
      headers: () => ends[i] !== 0 && problems.push('headers behind the end'),
      data(chunk) {
        if (ends[i] !== 0) problems.push('data behind the end');
        if (i % 2 === 0) stream.took(chunk.length);
      },
      ended(failure) {
        ends[i] = (ends[i] ?? 0) + 1;
        if (failure === undefined) answered++;
      },
    });
  }
  const called = read(session);
  await play(peer, session, input, random);
  peer.end();
  session.destroy(undefined);
  await called;
  await new Promise(setImmediate);
  if (closed !== 1) problems.push(`the end was reported ${closed} times`);
  for (const [i, count] of ends.entries()) if (count !== 1) problems.push(`stream ${i} ended ${count} times`);
  const code = farewell(Buffer.concat(said), problems);
  if (problems.length > 0) throw new Error(problems.join('; '));
  return { answered, code };
}

/** A call that reads messages to its end. */
async function read(session: Http2Session): Promise<void> {
  try {
    for await (const message of callStream(session, head)) void message;
  } catch (error) {
    if (!(error instanceof GrpcError)) throw error;
  }
}

async function play(peer: Duplex, session: Http2Session, input: Buffer, random: Random): Promise<void> {
  await new Promise(setImmediate);
  const crumbs = random() < 0.3;
  for (let at = 0; at < input.length && !session.closed; ) {
    const size = 1 + below(random, crumbs ? 40 : 8000);
    peer.write(input.subarray(at, at + size));
    at += size;
    await new Promise(setImmediate);
  }
}

/** The error code with which the client closed the connection, if it did. */
function farewell(said: Buffer, problems: string[]): number | undefined {
  if (!said.subarray(0, preface.length).equals(preface)) problems.push('no preface');
  return farewellOf(said.subarray(preface.length), problems);
}

/** The error code with which the sender of these frames closed the connection, if it did. */
export function farewellOf(said: Buffer, problems: string[]): number | undefined {
  let code: number | undefined;
  for (const { length, type, payload } of framesOf(said)) {
    if (payload.length !== length) problems.push('a frame that is cut off');
    else if (type === frameType.GOAWAY) code = payload.readUInt32BE(4);
    else if (type === frameType.RST_STREAM && !knownCodes.has(payload.readUInt32BE(0)))
      problems.push('an unknown code');
  }
  if (code !== undefined && !knownCodes.has(code)) problems.push(`an unknown code ${code}`);
  return code;
}
