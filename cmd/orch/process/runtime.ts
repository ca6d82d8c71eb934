/** Takes a node's container runtime down with all that runs in it. */
import { realClock } from '#apimachinery/clock.js';
import {
  containerdPaths,
  resumeContainerd,
  runningContainerd,
  stopContainerd,
} from '#nodeagent/containerd/containerd.js';
import { cleanContainerd, shimsOf } from '#nodeagent/containerd/teardown.js';
import type { CRI } from '#nodeagent/cri/cri.js';
import { GrpcCRI } from '#nodeagent/cri/grpc/client.js';
import { mountsBelow, unmount } from '#nodeagent/files/mounts.js';

/** Longest time that containers get to end by themselves when their machine's cluster goes down; seconds. */
const graceSeconds = 5;

/**
 * Stops every container and sandbox, then containerd, and removes what it left in the kernel (mounts, its bridge). What
 * is stopped stays on disk for the next start, images too. Does nothing when there never was a runtime in that directory.
 */
export async function stopRuntime(dir: string): Promise<void> {
  // Containers outlive a containerd that was killed, and only another one can take them down in order.
  if ((await shimsOf(dir)).length > 0) await resumeContainerd(dir);
  if ((await runningContainerd(dir)) !== undefined) {
    const cri = new GrpcCRI({ endpoint: `unix://${containerdPaths(dir).socket}`, clock: realClock });
    try {
      await stopAll(cri);
    } finally {
      await cri.close();
    }
  }
  await stopContainerd(dir, realClock);
  await cleanContainerd(dir);
}

async function stopAll(cri: CRI): Promise<void> {
  const running = (await cri.listContainers()).filter((container) => container.state === 'CONTAINER_RUNNING');
  await Promise.all(running.map((container) => cri.stopContainer(container.id, graceSeconds)));
  const sandboxes = await cri.listPodSandbox();
  await Promise.all(sandboxes.map((sandbox) => cri.stopPodSandbox(sandbox.id)));
}

/** Unmounts the volumes of pods below a directory; those in memory lose their content, as at a restart of the machine. */
export async function unmountVolumes(dir: string): Promise<void> {
  for (const mount of await mountsBelow(dir)) await unmount(mount, { lazy: true });
}
