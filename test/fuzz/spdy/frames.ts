/** Connections' worth of SPDY frames, more and less honest ones. Pure: the randomness is handed in. */
import { deflateSync } from 'node:zlib';
import { controlFrame, dataHead, frameType, uint32s } from '#daemon/streaming/spdy/frames.js';
import { HeaderWriter, spdyDictionary } from '#daemon/streaming/spdy/headers.js';
import { below, pick, type Random } from '#test/fuzz/mutate.js';

const controlTypes = Object.values(frameType);
const oddNumbers = [0, 1, 2, 7, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff] as const;

const number = (random: Random) => (random() < 0.5 ? below(random, 20) : pick(random, oddNumbers));
const noise = (random: Random, length: number) =>
  Buffer.from(Array.from({ length: below(random, length) }, () => below(random, 256)));

/** What a peer sends over one connection. `ids` is 1 for a client's streams and 0 for a server's. */
export function conversation(random: Random, ids: 0 | 1): Buffer {
  const writer = new HeaderWriter();
  const frames: Buffer[] = [];
  let nextId = ids === 1 ? 1 : 2;
  for (let n = 1 + below(random, 40); n > 0; n--) {
    // Mostly a stream that has been: its own, or one that the other side opened.
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
    // One that breaks the connection's rules hides what comes behind it.
    return random() < 0.3 ? controlFrame(type, below(random, 4), body) : controlFrame(10, 0, body);
  }
}

/** The same bytes in parts of one to `most` bytes. */
export function* parts(bytes: Buffer, random: Random, most: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + below(random, most);
    yield bytes.subarray(at, at + length);
    at += length;
  }
}
