import t from 'tap';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { ImageCollector, type ImageCollectorOptions, imagePeriodMs } from '#nodeagent/collection/image-collector.js';
import { bytesToFree, type ImageRecord, removableImages } from '#nodeagent/collection/image-plan.js';
import type { Container, Image } from '#nodeagent/cri/cri.js';

const minute = 60_000;

t.test('space is freed down to the low threshold once the high one is reached', async (t) => {
  const policy = { highPercent: 90, lowPercent: 80, minAgeMs: 0 };
  const free = (availableBytes: number, capacityBytes = 1000) =>
    bytesToFree(policy, { availableBytes, capacityBytes, usedBytes: 0, inodes: 0, inodesFree: 0 });
  t.equal(free(110), 0, 'below');
  t.equal(free(109), 91, 'whole percents count');
  t.equal(free(100), 100);
  t.equal(free(0), 200);
  t.equal(free(2000), 0, 'more available than there is');
  t.equal(free(0, 0), undefined, 'no capacity');
});

t.test('images are removed in the order of their last use', async (t) => {
  const image = (id: string, more: Partial<ImageRecord> = {}): ImageRecord => ({
    ...{ id, firstSeenMs: 0, lastUsedMs: 0, sizeBytes: 1, isPinned: false, isUsed: false, ...more },
  });
  const images = [
    image('yesterday', { lastUsedMs: 50 }),
    image('used', { lastUsedMs: 100, isUsed: true }),
    image('pinned', { isPinned: true }),
    image('never-new', { firstSeenMs: 40 }),
    image('never-old'),
    image('young', { firstSeenMs: 95 }),
    image('just-now', { lastUsedMs: 100 }),
  ];
  t.same(
    removableImages(images, 10, 100).map(({ id }) => id),
    ['never-old', 'never-new', 'yesterday'],
  );
  t.same(removableImages(images, 0, 100).at(1)?.id, 'never-new');
});

/** A runtime with images of 100 bytes on a disk of 1000. */
class Runtime {
  readonly clock = new VirtualClock();
  readonly events: string[] = [];
  readonly removed: string[] = [];
  images: Image[] = [];
  used: string[] = [];
  other = 0;
  failing = new Set<string>();
  capacity = 1000;

  pull(...ids: string[]): void {
    for (const id of ids) {
      this.images.push({
        ...{
          id,
          repoTags: [`${id}:latest`],
          repoDigests: [`${id}@digest`],
          sizeBytes: 100,
          username: '',
          pinned: false,
        },
      });
    }
  }

  collector(more: Partial<ImageCollectorOptions> = {}): ImageCollector {
    const find = (name: string) => this.images.find(({ id, repoTags }) => id === name || repoTags.includes(name));
    return new ImageCollector({
      clock: this.clock,
      log: silentLogger,
      cri: {
        listImages: async () => [...this.images],
        listContainers: async () => this.used.map((imageRef) => ({ imageRef, image: '' }) as Container),
        imageStatus: async (name) => find(name),
        removeImage: async (id) => {
          if (this.failing.has(id)) throw new Error(`${id} is busy`);
          this.removed.push(id);
          this.images = this.images.filter((image) => image.id !== id);
        },
        imageFsInfo: async () => [{ timestamp: 0, mountpoint: '/images', usedBytes: 0, inodesUsed: 0 }],
        sandboxImage: async () => 'pause:latest',
      },
      machine: {
        filesystem: async () => ({
          ...{ capacityBytes: this.capacity, usedBytes: 0, inodes: 0, inodesFree: 0 },
          availableBytes: this.capacity - this.images.length * 100 - this.other,
        }),
      },
      policy: { highPercent: 80, lowPercent: 50, minAgeMs: 2 * minute },
      sandboxImage: '',
      events: { record: ({ type, reason, message }) => this.events.push(`${type} ${reason}: ${message}`) },
      ...more,
    });
  }
}

async function run(runtime: Runtime, collector: ImageCollector, t: { teardown(fn: () => unknown): void }) {
  const stop = new AbortController();
  const running = collector.run(stop.signal);
  t.teardown(async () => {
    stop.abort();
    await running;
  });
  await runtime.clock.advance(1);
}

t.test('a full disk loses the images that were used longest ago, again and again', async (t) => {
  const runtime = new Runtime();
  runtime.pull('pause', 'a', 'b', 'c');
  runtime.used = ['b'];
  await run(runtime, runtime.collector(), t);
  t.same(runtime.removed, [], 'there is room');
  runtime.used = ['a@digest'];
  runtime.pull('d', 'e', 'f', 'g');
  await runtime.clock.advance(imagePeriodMs);
  t.same(runtime.removed.splice(0), ['c', 'b'], 'what was never used goes first; new images stay');
  t.match(runtime.events.splice(0), [
    'Warning FreeDiskSpaceFailed: failed to garbage collect required amount of images. Wanted to free 300 bytes, but freed 200 bytes',
  ]);
  runtime.used = ['a', 'd:latest'];
  runtime.other = 200;
  await runtime.clock.advance(imagePeriodMs);
  t.same(runtime.removed.splice(0), ['e', 'f', 'g'], 'the image of sandboxes and used ones stay');
  t.equal(runtime.events.length, 0);
  runtime.pull('b');
  runtime.used = [];
  runtime.other = 500;
  await runtime.clock.advance(imagePeriodMs);
  t.same(runtime.removed.splice(0), ['d', 'a'].sort(), 'an image that was pulled again is new again');
});

t.test('pinned images, and the one of --pod-infra-container-image, are never removed', async (t) => {
  const runtime = new Runtime();
  runtime.pull('pause', 'infra', 'a');
  const [first] = runtime.images;
  runtime.images[0] = { ...(first as Image), pinned: true };
  runtime.other = 700;
  const collector = runtime.collector({ sandboxImage: 'infra:latest' });
  await run(runtime, collector, t);
  t.same(runtime.removed, ['a']);
  await collector.removeUnused();
  t.same(runtime.removed, ['a']);
});

t.test("without the option and the runtime's word, the image of sandboxes is as any other", async (t) => {
  const runtime = new Runtime();
  runtime.pull('pause');
  runtime.other = 900;
  await run(runtime, runtime.collector({ sandboxImage: 'another' }), t);
  t.same(runtime.removed, ['pause']);
});

t.test('--image-gc-high-threshold=100 switches it off, except for the eviction', async (t) => {
  const runtime = new Runtime();
  runtime.pull('pause', 'a', 'b');
  runtime.other = 700;
  const collector = runtime.collector({ policy: { highPercent: 100, lowPercent: 50, minAgeMs: 0 } });
  await run(runtime, collector, t);
  t.same(runtime.removed, []);
  await collector.removeUnused();
  t.same(runtime.removed, ['a', 'b']);
});

t.test('failures are reported from the second one in a row on', async (t) => {
  const runtime = new Runtime();
  runtime.pull('pause', 'a', 'b');
  runtime.failing = new Set(['a', 'b']);
  runtime.other = 600;
  const collector = runtime.collector();
  await run(runtime, collector, t);
  t.same(runtime.events, []);
  await runtime.clock.advance(imagePeriodMs);
  t.same(runtime.events, [
    'Warning ImageGCFailed: wanted to free 400 bytes, but freed 0 bytes space with errors in image deletion: [a is busy, b is busy]',
  ]);
  await t.rejects(collector.removeUnused(), {
    message: /^wanted to free 9223372036854775807 bytes, but freed 0 bytes space/,
  });
  runtime.failing.delete('b');
  runtime.capacity = 0;
  await runtime.clock.advance(imagePeriodMs);
  t.same(runtime.events.slice(1), [
    'Warning InvalidDiskCapacity: invalid capacity 0 on image filesystem',
    'Warning ImageGCFailed: invalid capacity 0 on image filesystem',
  ]);
});
