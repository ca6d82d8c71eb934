/** Sights of evictions, and of what is collected on the node. */
import { events, nodes, pods } from '#api/core/v1/resources.gen.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import type { ImageCollector } from '#nodeagent/collection/image-collector.js';
import { newImageCollector } from '#nodeagent/compose-eviction.js';
import type { CRI, Image } from '#nodeagent/cri/cri.js';
import { NodeEvents } from '#nodeagent/node/node-events.js';
import { testPod } from '#nodeagent/testing/agent-fixture.js';
import type { Sight } from '#nodeagent/testing/effects/effect.js';
import { type SeenAgent, withAgent } from '#nodeagent/testing/effects/node-sights.js';
import { ShortMachine } from '#nodeagent/testing/short-machine.js';

const Mi = 2 ** 20;

interface ShortNode extends SeenAgent {
  readonly machine: ShortMachine;
  /** Time in seconds since the machine has been short. */
  elapsed(): number;
  condition(type: string): string | undefined;
  /** Names of the evicted pods. */
  evicted(): string[];
}

/** A node with two running pods, which never end by themselves, whose machine has 512 Mi left. */
function shortNode(look: (node: ShortNode) => Promise<unknown>): Sight {
  return (values, dialect) => {
    const machine = new ShortMachine();
    return withAgent(
      values,
      dialect,
      async (agent) => {
        const { api, clock } = agent;
        await clock.advanceUntil(() => api.list(pods).every(({ status }) => status?.phase === 'Running'));
        // Just after a check.
        await clock.advance(10_000 - (clock.monotonic() % 10_000) + 100);
        const began = clock.monotonic();
        machine.short = { memoryAvailableBytes: 512 * Mi };
        const evictions = () => api.list(events).filter(({ reason }) => reason === 'Evicted');
        return look({
          ...{ ...agent, machine },
          elapsed: () => (clock.monotonic() - began) / 1000,
          condition: (type) => api.list(nodes)[0]?.status?.conditions?.find((each) => each.type === type)?.status,
          evicted: () => evictions().map(({ involvedObject }) => involvedObject.name ?? ''),
        });
      },
      {
        dependencies: () => ({ machine }),
        prepare({ api }) {
          const annotations = { [`${dialect.simulationPrefix}stop-latency`]: 'never' };
          for (const name of ['a', 'b'])
            api.seed(pods, testPod(name, { terminationGracePeriodSeconds: 30 }, annotations));
        },
      },
    );
  };
}

/** Whether the node is short of memory. */
export const memoryPressure = (): Sight =>
  shortNode(async ({ clock, condition }) => {
    await clock.advance(25_000);
    return condition('MemoryPressure');
  });

/** Whether it still is, a minute after its memory has come back. */
export const pressureThatRemains = (): Sight =>
  shortNode(async ({ clock, condition, machine }) => {
    await clock.advanceUntil(() => condition('MemoryPressure') === 'True');
    machine.short = {};
    await clock.advance(60_000);
    return condition('MemoryPressure');
  });

/** How long the node is short before it evicts a pod, rounded down to multiples of 5 seconds. */
export const secondsUntilEviction = (): Sight =>
  shortNode(async ({ clock, evicted, elapsed }) => {
    await clock.advanceUntil(() => evicted().length > 0);
    return Math.floor(elapsed() / 5) * 5;
  });

/** How many pods are evicted if the first eviction frees a bit more than the threshold. */
export const evictionsToReclaim = (): Sight =>
  shortNode(async ({ clock, evicted, machine }) => {
    await clock.advanceUntil(() => evicted().length > 0);
    machine.short = { memoryAvailableBytes: 1500 * Mi };
    await clock.advance(60_000);
    return evicted().length;
  });

/** Seconds between the eviction of a pod and its end. */
export const graceOfEviction = (): Sight =>
  shortNode(async ({ clock, api, evicted, elapsed }) => {
    await clock.advanceUntil(() => evicted().length > 0);
    const began = elapsed();
    await clock.advanceUntil(() => api.list(pods).some(({ status }) => status?.phase === 'Failed'));
    return Math.round(elapsed() - began);
  });

/** The number of dead containers, a minute after the fourth end of one. */
export function deadContainers(): Sight {
  return (values, dialect) =>
    withAgent(
      values,
      dialect,
      async ({ api, clock, runtime }) => {
        const restarts = () => api.list(pods)[0]?.status?.containerStatuses?.[0]?.restartCount ?? 0;
        await clock.advanceUntil(() => restarts() >= 4);
        await clock.advance(65_000);
        return (await runtime.listContainers({ state: 'CONTAINER_EXITED' })).length;
      },
      {
        prepare({ api }) {
          api.seed(pods, testPod('p', {}, { [`${dialect.simulationPrefix}exit-after`]: '1s' }));
        },
      },
    );
}

/** A disk of 1000 bytes with images of 100 bytes each. */
class ImageDisk {
  readonly clock = new VirtualClock();
  readonly removed: string[] = [];
  other = 0;
  #images: Image[] = [];

  constructor(...names: string[]) {
    for (const name of names) this.pull(name);
  }

  pull(name: string): void {
    this.#images.push({ id: name, repoTags: [], repoDigests: [], sizeBytes: 100, username: '', pinned: false });
  }

  collector(values: Parameters<Sight>[0]) {
    const cri: Partial<CRI> = {
      listImages: async () => [...this.#images],
      listContainers: async () => [],
      imageStatus: async (name) => this.#images.find(({ id }) => id === name),
      sandboxImage: async () => undefined,
      imageFsInfo: async () => [{ timestamp: 0, mountpoint: '/', usedBytes: 0, inodesUsed: 0 }],
      removeImage: async (name) => {
        this.removed.push(name);
        this.#images = this.#images.filter(({ id }) => id !== name);
      },
    };
    const machine = new ShortMachine();
    const amounts = { capacityBytes: 1000, usedBytes: 0, inodes: 0, inodesFree: 0 };
    const state = async () => ({ ...amounts, availableBytes: 1000 - this.other - this.#images.length * 100 });
    Object.assign(machine, { filesystem: state });
    const nodeEvents = new NodeEvents({ record: () => undefined }, 'node');
    return newImageCollector(
      values,
      { clock: this.clock, log: silentLogger, cri: cri as CRI },
      { machine, nodeEvents },
    );
  }
}

/** What a collector removes by `act`, once it has seen the disk. */
async function removed(
  disk: ImageDisk,
  values: Parameters<Sight>[0],
  act: (collector: ImageCollector) => Promise<void>,
) {
  const collector = disk.collector(values);
  const stop = new AbortController();
  const running = collector.run(stop.signal);
  await disk.clock.advance(1);
  await act(collector);
  stop.abort();
  await running;
  return disk.removed.join(' ');
}

/** The images that are removed from a disk that is full to 95 %. */
export function removedImages(): Sight {
  return (values) => {
    const disk = new ImageDisk('example.com/pause:1', 'a', 'b');
    return removed(disk, values, async (collector) => {
      disk.other = 650;
      await collector.collect();
    });
  };
}

/** The images that are removed when disk is short, one of which is a minute old. */
export function removedYoungImages(): Sight {
  return (values) => {
    const disk = new ImageDisk();
    return removed(disk, values, async (collector) => {
      disk.pull('young');
      await disk.clock.advance(360_000);
      await collector.removeUnused();
    });
  };
}
