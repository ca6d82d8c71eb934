import t from 'tap';
import { RecentFrames } from '#apiserver/representation/recent-frames.js';
import type { FrameEncoder } from '#apiserver/representation/watch-frames.js';
import type { ResourceEvent } from '#storage/resource-storage.js';

function setUp(bytes: number) {
  let made = 0;
  const encoder: FrameEncoder = {
    event: (event) => {
      made++;
      return [Buffer.from(String(event.revision)), Buffer.alloc(bytes, ' ')];
    },
    error: () => [],
  };
  const event = (revision: number): ResourceEvent => ({ type: 'BOOKMARK', revision: BigInt(revision) });
  return {
    frames: new RecentFrames(),
    encoder,
    events: Array.from({ length: 20 }, (_, n) => event(n)),
    made: () => made,
  };
}

void t.test('the same events are the same bytes, made once', async (t) => {
  const { frames, encoder, events, made } = setUp(1);
  const run = frames.run(events.slice(0, 3), 0, 'json', encoder);
  t.equal(run.bytes.toString(), '0 1 2 ');
  t.same(run.sizes, [2, 2, 2]);
  t.equal(frames.run(events.slice(0, 3), 0, 'json', encoder), run);
  t.equal(frames.run(events.slice(0, 5), 0, 'json', encoder), run, 'as the beginning of more');
  t.equal(made(), 3);
  t.equal(frames.run(events.slice(0, 5), 3, 'json', encoder).bytes.toString(), '3 4 ');
  t.not(frames.run(events.slice(0, 3), 0, 'protobuf', encoder), run);
});

void t.test('other events in between, or fewer of them, are other bytes', async (t) => {
  const { frames, encoder, events } = setUp(1);
  frames.run(events.slice(0, 3), 0, 'json', encoder);
  const [first, , third, fourth] = events;
  const skipped = [first, third, fourth].filter((event) => event !== undefined);
  t.equal(frames.run(skipped, 0, 'json', encoder).bytes.toString(), '0 2 3 ');
  t.equal(frames.run(events.slice(0, 2), 0, 'json', encoder).bytes.toString(), '0 1 ');
});

void t.test('a run ends where it is long enough', async (t) => {
  const { frames, encoder, events } = setUp(20_000);
  const run = frames.run(events, 0, 'json', encoder);
  t.equal(run.sizes.length, 3);
  t.equal(frames.run(events, 3, 'json', encoder).sizes.length, 3);
});
