/** The container runtimes of a cluster's nodes, with the first images in them. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { keptForPods } from '#cmd/orch/context/closable.js';
import type { ClusterContext } from '#cmd/orch/context/cluster-context.js';
import { removeDeadBridges } from '#cmd/orch/dead-bridges.js';
import { primaryRange } from '#cmd/orch/network.js';
import { removePodNetwork } from '#cmd/orch/pod-network.js';
import { stopRuntime } from '#cmd/orch/process/runtime.js';
import { RuntimeKeeper } from '#cmd/orch/process/runtime-keeper.js';
import { step } from '#cmd/orch/terminal/progress.js';
import { containerdPaths } from '#containerd/containerd.js';
import { forgetPodCIDR } from '#containerd/pod-cidr.js';
import { buildImageArchive } from '#nodeagent/images/busybox.js';
import { loadImageArchive } from '#nodeagent/images/load.js';

export interface NodeRuntime {
  readonly endpoint: string;
  /** Where the node's pods have their cgroups; absent: right below that of the machine. */
  readonly cgroupRoot?: string;
}

export interface ContainerRuntimes {
  /** Of each node; undefined for a simulated one. */
  readonly runtimes: readonly (NodeRuntime | undefined)[];
  /** Undefined where nothing is real. */
  readonly pauseImage: string | undefined;
}

/** The images of a new cluster are the same in both dialects. */
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
        // The nodes of a store that forgets get other ranges than they had.
        if (settings.store === 'memory') await forgetPodCIDR(dir);
        const removed = await removeDeadBridges(dir, primaryRange(settings.podRange));
        if (removed.length > 0) {
          const note = `removed ${removed.join(', ')}, which a run that was killed had left in the network of the pods`;
          log.warn({ node: name, bridges: removed }, 'Removed bridges that a run that was killed had left');
          progress({ step: 'pod network', state: 'done', note });
        }
        const keeper = new RuntimeKeeper({
          containerd: { dir, sandboxImage: images.pause, clock },
          clock,
          log,
        });
        const containerd = await keeper.start();
        running.push({
          name: `container runtime of ${name}`,
          async close() {
            await keeper.close();
            await stopRuntime(dir, (problem) => log.warn({ node: name, problem }, 'Containers did not end in order'));
          },
          leave: () => keeper.close(),
        });
        await loadImageArchive(archive, containerd.socket);
        return { endpoint: containerd.endpoint, cgroupRoot: containerdPaths(dir).cgroupRoot };
      }),
    ),
  );
  running.push(keptForPods('routes to pods of other nodes', () => removePodNetwork(settings)));
  return { runtimes, pauseImage: images.pause };
}
