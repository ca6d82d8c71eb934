/**
 * Feeds the HTTP/2 server mutated requests of a real client. The session must not throw, must report the end of each
 * request exactly once and nothing after it, must send well-formed frames, must not buffer more of bodies than it
 * permits, and must end with its connection.
 */
import type { Duplex } from 'node:stream';
import { realClock } from '#apimachinery/clock.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
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
import { encodeHeaders } from '#http/http2/hpack.js';
import { ServerSession } from '#http/http2/server-session.js';
import type { ServerStream } from '#http/http2/server-stream.js';
import { socketPair } from '#http/http2/testing/socket-pair.js';
import { farewellOf, fuzzConnections, type Http2FuzzResult } from '#test/fuzz/http2/http2.js';
import { framesOf } from '#test/fuzz/http2/mutate.js';
import { below, type Random } from '#test/fuzz/mutate.js';

const { DATA, HEADERS, RST_STREAM, WINDOW_UPDATE, PING } = frameType;
const { END_STREAM, END_HEADERS } = frameFlag;
const streamWindowBytes = 2 ** 16;
const answer = encodeHeaders([
  [':status', '200'],
  ['content-type', 'text/plain'],
]);

/** A valid conversation: requests with and without bodies, pings, window updates, resets. */
function conversation(random: Random): Buffer {
  const parts = [settingsFrame([[setting.INITIAL_WINDOW_SIZE, below(random, 70_000)]])];
  const requests = 1 + below(random, 20);
  for (let id = 1; id < 2 * requests; id += 2) {
    const length = random() < 0.5 ? 0 : below(random, 20_000);
    const head = encodeHeaders([
      [':method', length === 0 ? 'GET' : 'POST'],
      [':scheme', 'https'],
      [':path', `/api/v1/namespaces/${id}`],
      [':authority', 'localhost'],
      ...(length > 0 && random() < 0.5 ? ([['content-length', String(length)]] as const) : []),
    ]);
    parts.push(frame(HEADERS, END_HEADERS | (length === 0 ? END_STREAM : 0), id, head));
    for (let left = length; left > 0; left -= 16_384) {
      parts.push(frame(DATA, left <= 16_384 ? END_STREAM : 0, id, Buffer.alloc(Math.min(left, 16_384))));
    }
    if (random() < 0.2) parts.push(numberFrame(RST_STREAM, id, resetCode.CANCEL));
    if (random() < 0.3) parts.push(numberFrame(WINDOW_UPDATE, random() < 0.5 ? 0 : id, 1 + below(random, 10_000)));
    if (random() < 0.2) parts.push(frame(PING, 0, 0, Buffer.alloc(8)));
  }
  return Buffer.concat(parts);
}

/** Throws an Error with the first failing input. `more`: whether to continue after that many inputs. */
export async function fuzzHttp2Server(seed: number, more: (inputs: number) => boolean): Promise<Http2FuzzResult> {
  const random = seededRandom(seed);
  return fuzzConnections(random, more, { input: () => framesOf(conversation(random)), feed });
}

async function feed(input: Buffer, random: Random): Promise<{ answered: number; code: number | undefined }> {
  const [socket, peer] = socketPair();
  const said: Buffer[] = [];
  peer.on('data', (chunk: Buffer) => said.push(chunk));
  const problems: string[] = [];
  const ends: number[] = [];
  let answered = 0;
  let closed = 0;
  const session = new ServerSession({
    socket,
    clock: realClock,
    maxStreams: 10,
    maxHeaderBytes: 10_000,
    streamWindowBytes,
    sessionWindowBytes: 2 * streamWindowBytes,
    handler: {
      request(stream) {
        const number = ends.push(0) - 1;
        stream.handler = {
          data(chunk) {
            if (ends[number] !== 0) problems.push('data behind the end');
            if (stream.unread > streamWindowBytes) problems.push('more than the window allows');
            if (number % 2 === 0) stream.took(chunk.length);
          },
          ended() {},
          drained() {},
          closed(failure) {
            ends[number] = (ends[number] ?? 0) + 1;
            if (failure === undefined) answered++;
          },
        };
        setImmediate(() => respond(stream, random));
      },
      closed: () => closed++,
    },
  });
  await play(peer, session, Buffer.concat([preface, input]), random);
  peer.end();
  session.destroy(undefined);
  for (let turns = 0; turns < 3; turns++) await new Promise(setImmediate);
  if (closed !== 1) problems.push(`the end was reported ${closed} times`);
  for (const [i, count] of ends.entries()) if (count !== 1) problems.push(`request ${i} ended ${count} times`);
  const code = farewellOf(Buffer.concat(said), problems);
  if (problems.length > 0) throw new Error(problems.join('; '));
  return { answered, code };
}

function respond(stream: ServerStream, random: Random): void {
  stream.head(answer);
  if (random() < 0.5) stream.write(Buffer.alloc(1 + below(random, 50_000)));
  // The request may end while the handler runs; some requests are never answered.
  if (random() < 0.8) stream.end(Buffer.alloc(below(random, 5000)));
}

async function play(peer: Duplex, session: ServerSession, input: Buffer, random: Random): Promise<void> {
  const crumbs = random() < 0.3;
  for (let at = 0; at < input.length && !session.leaving; ) {
    const size = 1 + below(random, crumbs ? 400 : 8000);
    peer.write(input.subarray(at, at + size));
    at += size;
    await new Promise(setImmediate);
  }
}
