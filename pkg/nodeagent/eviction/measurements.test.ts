import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { Measurements, type MeasurementsOptions } from '#nodeagent/eviction/measurements.js';
import { MemoryWatch } from '#nodeagent/eviction/memory-watch.js';
import { ShortMachine } from '#nodeagent/testing/short-machine.js';

const clock = new VirtualClock();
const amounts = { capacityBytes: 1000, usedBytes: 0, inodesFree: 7, inodes: 70 };
const images = { ...amounts, availableBytes: 300, device: 'images' };

/** A container of one name, newest first. */
const run = (id: string, name: string) => ({ id, metadata: { name, attempt: 0 } });

function measurements(machine: ShortMachine, more: Partial<MeasurementsOptions> = {}): Measurements {
  return new Measurements({
    ...{ clock, log: silentLogger, machine },
    cri: {
      imageFsInfo: async () => [{ timestamp: 0, mountpoint: '/images', usedBytes: 0, inodesUsed: 0 }],
      listContainerStats: async () => [],
    },
    observer: { get: () => undefined },
    collector: { collect: () => Promise.reject(new Error('unused')) },
    meter: { usage: async () => new Map(), measure: async () => new Map() },
    ...more,
  });
}

class DiskMachine extends ShortMachine {
  images: typeof images | undefined = images;
  own = 'images';

  override filesystem(): Promise<undefined> {
    return Promise.resolve(this.images as undefined);
  }

  override nodeFilesystem(): Promise<undefined> {
    return Promise.resolve({ ...amounts, availableBytes: 0, device: this.own } as unknown as undefined);
  }
}

t.test('all signals are measured, except those that the machine lacks', async (t) => {
  const machine = new DiskMachine({ memoryBytes: 8000 });
  machine.short = {
    ...{ memoryAvailableBytes: 5000, storageAvailableBytes: 40, storageCapacityBytes: 50 },
    ...{ inodesFree: 3, inodes: 30, processes: 60, maxProcesses: 100 },
  };
  const timeMs = clock.monotonic();
  const observed = (available: number, capacity: number) => ({ available, capacity, timeMs });
  const podsMemory = async () => ({ workingSetBytes: 1500, limitBytes: 4000 });
  t.same(await measurements(machine, { podsMemory }).observations(), {
    'memory.available': observed(5000, 8000),
    'allocatableMemory.available': observed(2500, 4000),
    'nodefs.available': observed(40, 50),
    'nodefs.inodesFree': observed(3, 30),
    'imagefs.available': observed(300, 1000),
    'imagefs.inodesFree': observed(7, 70),
    'pid.available': observed(40, 100),
  });
  machine.short = { ...machine.short, inodes: 0, maxProcesses: 0 };
  machine.images = undefined;
  const unlimited = async () => ({ workingSetBytes: 1500, limitBytes: undefined });
  const few = await measurements(machine, { podsMemory: unlimited }).observations();
  t.same(Object.keys(few), ['memory.available', 'nodefs.available']);
});

t.test('a runtime that does not answer hides only its own file system', async (t) => {
  const machine = new DiskMachine();
  const cri = { imageFsInfo: () => Promise.reject(new Error('down')), listContainerStats: async () => [] };
  const observed = await measurements(machine, { cri }).observations();
  t.ok(observed['memory.available'] && observed['nodefs.available']);
  t.notOk(observed['imagefs.available']);
  t.notOk(await measurements(machine, { cri }).hasImageFilesystem());
});

t.test('the file system of images is an own one if its device is another one', async (t) => {
  const machine = new DiskMachine();
  t.equal(await measurements(machine).hasImageFilesystem(), false);
  machine.own = 'another';
  t.equal(await measurements(machine).hasImageFilesystem(), true);
});

t.test('the usage of a pod consists of its newest containers, their logs and its volumes', async (t) => {
  const pod = { metadata: { uid: 'u' }, spec: { containers: [] } } as Pod;
  const stats = [
    { id: 'new', writableLayerUsedBytes: 5, writableLayerInodesUsed: 2 },
    { id: 'old', writableLayerUsedBytes: 99, writableLayerInodesUsed: 99 },
  ];
  const storage = new Map([
    [
      'u',
      {
        timeMs: 0,
        volumes: [{ name: 'v', plugin: 'empty-dir', filesystem: undefined, usedBytes: 8, inodesUsed: 3 }],
        logs: new Map([['main', { usedBytes: 4, inodesUsed: 1 }]]),
      },
    ],
  ]);
  const of = measurements(new ShortMachine(), {
    observer: {
      get: () => ({ containers: [run('new', 'main'), run('old', 'main'), run('other', 'side')] }) as never,
    },
    cri: { imageFsInfo: async () => [], listContainerStats: async () => stats as never },
    meter: { usage: async () => storage, measure: async () => storage },
    collector: {
      collect: async () =>
        ({
          stats: new Map(stats.map((each) => [each.id, each])),
          pods: [
            {
              ...{ uid: 'u', workingSetBytes: 70 },
              containers: [
                { name: 'main', workingSetBytes: 60, cgroup: { processes: 2 } },
                { name: '', workingSetBytes: 1, cgroup: { processes: 1 } },
              ],
            },
          ],
        }) as never,
    },
  });
  const main = { name: 'main', rootfs: { bytes: 5, inodes: 2 }, logs: { bytes: 4, inodes: 1 } };
  const none = { bytes: 0, inodes: 0 };
  const side = { name: 'side', memoryBytes: undefined, rootfs: none, logs: none };
  const volumes = new Map([['v', { bytes: 8, inodes: 3 }]]);
  const containers = [{ ...main, memoryBytes: undefined }, side];
  t.same(await of.storage([pod]), new Map([['u', { containers, volumes }]]));
  t.same((await of.uses([pod], { onDisk: true })).get('u'), {
    ...{ memoryBytes: 70, processes: 3, volumes, containers: [{ ...main, memoryBytes: 60 }, side] },
  });
  t.match((await of.uses([pod], { onDisk: false })).get('u'), {
    memoryBytes: 70,
    containers: [{ name: 'main', memoryBytes: 60, rootfs: none }],
  });
});

t.test('memory is watched each second, in both directions, and only if it has thresholds', async (t) => {
  const time = new VirtualClock();
  let available = 100;
  let fails = false;
  let reads = 0;
  const noticed: number[] = [];
  const watch = (signal: 'memory.available' | 'nodefs.available') =>
    new MemoryWatch({
      ...{ clock: time, log: silentLogger },
      thresholds: [{ signal, amount: '50', graceMs: 0 }],
      observe: async () => {
        reads += 1;
        if (fails) throw new Error('unreadable');
        return { 'memory.available': { available, capacity: 100, timeMs: time.monotonic() } };
      },
      onCrossed: () => noticed.push(available),
    });
  const stop = new AbortController();
  const running = Promise.all([watch('memory.available').run(stop.signal), watch('nodefs.available').run(stop.signal)]);
  await time.advance(3000);
  t.same(noticed, []);
  for (const next of [49, 30, 50, 10]) {
    available = next;
    fails = next === 30;
    await time.advance(1000);
  }
  t.same(noticed, [49, 50, 10]);
  t.equal(reads, 8);
  stop.abort();
  await running;
});
