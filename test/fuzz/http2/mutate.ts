/** Mutations of HTTP/2 frame streams. Pure: the caller provides randomness. */
import { frameHeadBytes, frameType, maxStreamId } from '#http/http2/frames.js';
import { below, pick, type Random } from '#test/fuzz/mutate.js';

/** A frame on the wire; its length may differ from that of its payload. */
export interface RawFrame {
  readonly length: number;
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

/** Maximum frames per input, so that a long run tests many inputs instead of a few large ones. */
const maxFrames = 400;

export function framesOf(bytes: Buffer): RawFrame[] {
  const frames: RawFrame[] = [];
  for (let at = 0; at + frameHeadBytes <= bytes.length; ) {
    const length = bytes.readUIntBE(at, 3);
    const [type = 0, flags = 0] = bytes.subarray(at + 3, at + 5);
    const start = at + frameHeadBytes;
    frames.push({
      length,
      type,
      flags,
      streamId: bytes.readUInt32BE(at + 5),
      payload: bytes.subarray(start, start + length),
    });
    at = start + length;
  }
  return frames;
}

export function bytesOf(frames: readonly RawFrame[]): Buffer {
  const parts = frames.map(({ length, type, flags, streamId, payload }) => {
    const head = Buffer.alloc(frameHeadBytes);
    head.writeUIntBE(length, 0, 3);
    head[3] = type;
    head[4] = flags;
    head.writeUInt32BE(streamId, 5);
    return Buffer.concat([head, payload]);
  });
  return Buffer.concat(parts);
}

const oddNumbers = [0, 1, 2, 3, 5, 7, 65_535, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1] as const;
const types = [...Object.values(frameType), 0x16] as const;
/** Lengths at or near those required by frame types. */
const lengths = [0, 1, 3, 4, 5, 6, 8, 9, 12, 200, 16_384] as const;

function randomFrame(random: Random): RawFrame {
  const length = pick(random, lengths);
  const payload = Buffer.alloc(length);
  if (random() < 0.7) for (let i = 0; i < length; i++) payload[i] = below(random, 256);
  if (length >= 4 && random() < 0.5) payload.writeUInt32BE(pick(random, oddNumbers), length - 4);
  return {
    length,
    type: pick(random, types as never),
    flags: pick(random, flagSets),
    streamId: streamOf(random),
    payload,
  };
}

const flagSets = [0, 1, 4, 5, 8, 9, 13, 32, 36, 37, 45, 255] as const;

function streamOf(random: Random): number {
  return random() < 0.7 ? below(random, 12) : pick(random, [maxStreamId, 2 ** 31, 2 ** 31 + 1, 2 ** 32 - 1, 99]);
}

function brokenPayload({ payload }: RawFrame, random: Random): Buffer {
  const bytes = Buffer.from(payload);
  for (let n = 1 + below(random, 4); n > 0 && bytes.length > 0; n--) {
    bytes[below(random, Math.min(bytes.length, 64))] = pick(random, [
      0,
      1,
      0x20,
      0x3f,
      0x7f,
      0x80,
      0xff,
      below(random, 256),
    ]);
  }
  return bytes;
}

type Mutation = (frames: RawFrame[], at: number, random: Random) => void;

const mutations: readonly [Mutation, ...Mutation[]] = [
  (frames, at) => frames.splice(at, 1),
  (frames, at, random) => frames.splice(below(random, frames.length), 0, frames[at] as RawFrame),
  (frames, at, random) => frames.splice(at, 0, randomFrame(random)),
  (frames, at, random) => frames.splice(at, 0, ...Array(1 + below(random, 100)).fill(randomFrame(random))),
  (frames, at, random) => change(frames, at, { type: pick(random, types as never) }),
  (frames, at, random) => change(frames, at, { flags: pick(random, flagSets) }),
  (frames, at, random) => change(frames, at, { streamId: streamOf(random) }),
  (frames, at, random) => change(frames, at, { length: pick(random, [0, 1, 16_384, 16_385, 2 ** 24 - 1]) }),
  (frames, at, random) => change(frames, at, { payload: brokenPayload(frames[at] as RawFrame, random) }),
  (frames, at, random) => split(frames, at, random),
];

function change(frames: RawFrame[], at: number, by: Partial<RawFrame>): void {
  frames[at] = { ...(frames[at] as RawFrame), ...by };
}

/** A header block is continued in further frames. */
function split(frames: RawFrame[], at: number, random: Random): void {
  const whole = frames[at] as RawFrame;
  if (whole.type !== frameType.HEADERS) return;
  const cut = below(random, whole.payload.length + 1);
  const [first, rest] = [whole.payload.subarray(0, cut), whole.payload.subarray(cut)];
  const begins = { ...whole, flags: whole.flags & ~4, payload: first, length: first.length };
  const goesOn = { ...whole, type: frameType.CONTINUATION, flags: 4, payload: rest, length: rest.length };
  frames.splice(at, 1, begins, goesOn);
}

/** The frames after up to six mutations. */
export function mutateFrames(frames: readonly RawFrame[], random: Random): RawFrame[] {
  const result = [...frames];
  for (let n = below(random, 7); n > 0 && result.length > 0; n--) {
    pick(random, mutations)(result, below(random, result.length), random);
  }
  return result.slice(0, maxFrames);
}
