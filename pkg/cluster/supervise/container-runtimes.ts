/** Starts the container runtimes of a cluster's nodes, and loads their first images. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Backoff } from '#apimachinery/backoff/backoff.js';
import { type ClusterContext, keptForPods } from '#cluster/config/cluster-context.js';
import { isInRange, primaryRange } from '#cluster/machine/network.js';
import { removePodNetwork } from '#cluster/supervise/node-network.js';
import { RuntimeKeeper, stopRuntime } from '#cluster/supervise/runtime.js';
import { step } from '#cluster/terminal/progress.js';
import { removeBridge, staleBridges } from '#containerd/bridges.js';
import type { CgroupDriver } from '#containerd/cgroup-root.js';
import { containerdPaths } from '#containerd/containerd.js';
import { forgetPodCIDR } from '#containerd/pod-cidr.js';
import { shimsOf } from '#containerd/remains.js';
import { removeRules } from '#containerd/rules.js';
import { buildImageArchive } from '#nodeagent/images/busybox.js';
import { loadImageArchive } from '#nodeagent/images/load.js';

export interface NodeRuntime {
  readonly endpoint: string;
  /** Parent of the cgroups of the node's pods; absent: the machine's root. */
  readonly cgroupRoot?: string;
}

export interface ContainerRuntimes {
  /** One for each node; undefined for a simulated one. */
  readonly runtimes: readonly (NodeRuntime | undefined)[];
  /** Undefined without real containers. */
  readonly pauseImage: string | undefined;
}

/** Time in which a failure to load images is not final; ms. */
const loadingLimitMs = 30_000;
/** Product in the names of the first images, the same in both dialects. */
const imageProduct = 'orch';

export async function startContainerRuntimes(context: ClusterContext): Promise<ContainerRuntimes> {
  const { settings, start, layout, clock, log, progress, running } = context;
  const archive = join(layout.root, 'images.tar');
  const images = await step(progress, 'images built', () =>
    buildImageArchive({ file: archive, product: imageProduct }),
  );
  if (start.foreignRuntime !== undefined)
    return { runtimes: [{ endpoint: start.foreignRuntime }], pauseImage: images.pause };
  const runtimes = await step(progress, 'container runtime', () =>
    Promise.all(
      settings.nodes.map(async (name) => {
        const dir = layout.runtime(name);
        mkdirSync(dir, { recursive: true });
        // With the store in memory nodes get new ranges at each start.
        if (settings.store === 'memory') await forgetPodCIDR(dir);
        const removed = await removeStaleBridges(dir, primaryRange(settings.podRange));
        if (removed.length > 0) {
          const note = `removed ${removed.join(', ')} of a killed run from the network of the pods`;
          log.warn({ node: name, bridges: removed }, 'removed bridges of a killed run');
          progress({ step: 'pod network', state: 'done', note });
        }
        const keeper = new RuntimeKeeper({
          containerd: {
            dir,
            sandboxImage: images.pause,
            clock,
            cgroupDriver: cgroupDriverOf(start.daemonOptions.nodeAgent),
          },
          clock,
          log,
        });
        const containerd = await keeper.start();
        running.push({
          name: `container runtime of ${name}`,
          async close() {
            await keeper.close();
            await stopRuntime(dir, (problem) => log.warn({ node: name, problem }, 'killing containers'));
          },
          leave: () => keeper.close(),
        });
        await loadImages(archive, containerd.socket, context);
        return { endpoint: containerd.endpoint, cgroupRoot: containerdPaths(dir).cgroupRoot };
      }),
    ),
  );
  running.push(keptForPods('routes to pods of other nodes', () => removePodNetwork(settings)));
  return { runtimes, pauseImage: images.pause };
}

/** Loads an archive; once more after each failure for half a minute, since the runtime may exit meanwhile and is restarted. */
async function loadImages(archive: string, socket: string, { clock, log }: ClusterContext): Promise<void> {
  const backoff = new Backoff({ initialMs: 250, maxMs: 5000 });
  const deadline = clock.monotonic() + loadingLimitMs;
  for (;;) {
    try {
      return await loadImageArchive(archive, socket);
    } catch (error) {
      if (clock.monotonic() > deadline) throw error;
      const delayMs = backoff.nextMs();
      log.warn({ err: error, delayMs }, 'cannot load the first images; trying again');
      await clock.sleep(delayMs);
    }
  }
}

/** The cgroup driver in options of the node agent, `name=value`; the last one counts. */
export function cgroupDriverOf(options: readonly string[]): CgroupDriver {
  const values = options.flatMap((option) => /^-{0,2}cgroup-driver=(.*)$/.exec(option)?.[1] ?? []);
  return values.at(-1) === 'systemd' ? 'systemd' : 'cgroupfs';
}

/**
 * Removes bridges of killed runs that conflict with the runtime of this directory: the directory's own bridge, which may have
 * an address of another range, and bridges of other clusters in its range. Resolves with their names.
 */
export async function removeStaleBridges(dir: string, podRange: string): Promise<string[]> {
  const { bridge: own } = containerdPaths(dir);
  // Running sandboxes will be taken over with their bridge.
  if ((await shimsOf(dir)).length > 0) return [];
  const removed: string[] = [];
  for (const { name, addresses } of await staleBridges()) {
    if (name !== own && !addresses.some((address) => isInRange(address, podRange))) continue;
    await removeBridge(name);
    await removeRules(name);
    removed.push(name);
  }
  return removed;
}
