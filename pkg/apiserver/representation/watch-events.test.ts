import t from 'tap';
import { type FrameEncoder, RecentFrames } from '#apiserver/representation/watch-events.js';
import type { ResourceEvent } from '#storage/resource-storage.js';

function setUp(bytes: number) {
  let encodings = 0;
  const encoder: FrameEncoder = {
    event: (event) => {
      encodings++;
      return [Buffer.from(String(event.revision)), Buffer.alloc(bytes, ' ')];
    },
    error: () => [],
  };
  const event = (revision: number): ResourceEvent => ({ type: 'BOOKMARK', revision: BigInt(revision) });
  return {
    frames: new RecentFrames(),
    encoder,
    events: Array.from({ length: 20 }, (_, n) => event(n)),
    encodings: () => encodings,
  };
}

void t.test('equal events share bytes that are encoded once, for watchers at any position', async (t) => {
  const { frames, encoder, events, encodings } = setUp(1);
  const three = events.slice(0, 3);
  const run = frames.run(three, 0, 'json', encoder);
  t.equal(run.bytes.toString(), '0 1 2 ');
  t.same(run.sizes, [2, 2, 2]);
  t.equal(frames.run(three, 0, 'json', encoder), run);
  t.equal(frames.run(events.slice(0, 5), 0, 'json', encoder).bytes.toString(), '0 1 2 3 4 ');
  t.equal(frames.run(events.slice(0, 5), 3, 'json', encoder).bytes.toString(), '3 4 ');
  t.equal(frames.run(events.slice(1, 4), 0, 'json', encoder).bytes.toString(), '1 2 3 ');
  t.equal(frames.run(events.slice(4, 6), 0, 'json', encoder).bytes.toString(), '4 5 ');
  t.equal(encodings(), 6);
  t.equal(frames.run(three, 0, 'protobuf', encoder).bytes.toString(), '0 1 2 ');
  t.equal(encodings(), 9);
});

void t.test('other sequences of events have other bytes', async (t) => {
  const { frames, encoder, events } = setUp(1);
  const bytes = (numbers: readonly number[]) => {
    const batch = numbers.map((n) => events[n]).filter((event) => event !== undefined);
    return frames.run(batch, 0, 'json', encoder).bytes.toString();
  };
  t.equal(bytes([0, 1, 2]), '0 1 2 ');
  t.equal(bytes([0, 2, 3]), '0 2 3 ');
  t.equal(bytes([0, 1]), '0 1 ');
  t.equal(bytes([2, 3, 4]), '2 3 4 ');
  t.equal(bytes([0, 1, 2, 3]), '0 1 2 3 ');
});

void t.test('a run ends with its block, and no event is lost', async (t) => {
  const { frames, encoder, events } = setUp(20_000);
  for (let from = 0; from < 5; from++) {
    const batch = events.slice(from);
    let at = 0;
    let text = '';
    while (at < batch.length) {
      const { bytes, sizes } = frames.run(batch, at, 'json', encoder);
      t.ok(sizes.length > 0 && bytes.length <= 64 * 1024);
      t.equal(
        bytes.length,
        sizes.reduce((sum, size) => sum + size, 0),
      );
      at += sizes.length;
      text += bytes.toString();
    }
    t.same(
      text.trim().split(/ +/).map(Number),
      batch.map(({ revision }) => Number(revision)),
    );
  }
});

void t.test('old frames are encoded again on demand', async (t) => {
  const { frames, encoder, events, encodings } = setUp(500_000);
  for (const [at] of events.entries()) frames.run(events, at, 'json', encoder);
  const before = encodings();
  t.match(frames.run(events, 0, 'json', encoder).bytes.toString(), /^0 /);
  t.ok(encodings() > before);
});
