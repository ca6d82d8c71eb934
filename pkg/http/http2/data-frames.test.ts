import t from 'tap';
import { DataFrames } from '#http/http2/data-frames.js';
import { defaultFrameBytes, frameHeadBytes, frameType } from '#http/http2/frames.js';
import { framesSaid } from '#http/http2/testing/frames-said.js';

/** Bytes that tell where they stand. */
const text = (length: number, from = 0) => Buffer.from(Array.from({ length }, (_, i) => ((from + i) * 7919) % 256));

function written(bufferBytes: number, parts: readonly number[]) {
  const frames = new DataFrames(Buffer.alloc(bufferBytes), 5);
  let length = 0;
  for (const part of parts) {
    if (!frames.hasRoom(part)) break;
    text(part, length).copy(frames.buffer, frames.at);
    frames.wrote(part);
    length += part;
  }
  return { frames, length };
}

void t.test('parts are in frames that every peer takes, in their order', async (t) => {
  const { frames, length } = written(64 * 1024, [6700, 6700, 6700, 1, 16_000, 384, 16_384, 3]);
  t.equal(frames.length, length);
  const said = framesSaid(frames.bytes());
  t.same(
    said.map(({ payload }) => payload.length),
    [13_400, 6701, 16_384, 16_384, 3],
    'a part is in one frame',
  );
  for (const { type, flags, streamId } of said)
    t.same([type, flags, streamId], [frameType.DATA, 0, 5], 'none of them ends the stream');
  t.ok(Buffer.concat(said.map(({ payload }) => payload)).equals(text(length)));
  t.ok(Buffer.concat(frames.payloads()).equals(text(length)), 'also when they are asked for once more');
});

void t.test('what has no room in one piece is told, and what room there is', async (t) => {
  const frames = new DataFrames(Buffer.alloc(frameHeadBytes + 20_000 + frameHeadBytes), 1);
  t.notOk(frames.hasRoom(defaultFrameBytes + 1), 'no frame is larger');
  t.equal(frames.mostRoom(), defaultFrameBytes);
  frames.wrote(defaultFrameBytes);
  t.equal(frames.mostRoom(), 20_000 - defaultFrameBytes, 'in the next frame');
  t.notOk(frames.hasRoom(4000));
  frames.wrote(20_000 - defaultFrameBytes);
  t.equal(frames.mostRoom(), 0);
  t.notOk(frames.hasRoom(1));
  t.equal(frames.length, 20_000);
  t.same(
    frames.payloads().map(({ length }) => length),
    [defaultFrameBytes, 20_000 - defaultFrameBytes],
  );
});
