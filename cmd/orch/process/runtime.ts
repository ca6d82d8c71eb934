/** Takes a node's container runtime down with all that runs in it. */
import { realClock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { containerdPaths, resumeContainerd, runningContainerd, stopContainerd } from '#containerd/containerd.js';
import { takeEveryStep } from '#containerd/every-step.js';
import { killRemains, remainsOf, removeNamespaces, shimsOf } from '#containerd/remains.js';
import { cleanContainerd } from '#containerd/teardown.js';
import type { CRI } from '#nodeagent/cri/cri.js';
import { GrpcCRI } from '#nodeagent/cri/grpc/client.js';
import { endMount, mountsBelow } from '#nodeagent/files/mounts.js';

/** Longest time that containers get to end by themselves when their machine's cluster goes down; seconds. */
const graceSeconds = 5;

/** Longest time of each call to a runtime on its way down, beyond that grace; a runtime that hangs would take minutes. */
const callMs = 30_000;

/**
 * Stops every container and sandbox, then containerd, and removes what it left in the kernel (mounts, its bridge). What
 * is stopped stays on disk for the next start, images too. Does nothing when there never was a runtime in that directory.
 * What does not end in order is killed, after `onDisorder` was told why. Throws LeftBehindError when something stays.
 */
export async function stopRuntime(dir: string, onDisorder: (why: string) => void): Promise<void> {
  // Once containerd has forgotten a sandbox, nobody knows its network any more.
  const before = await remainsOf(dir);
  try {
    await stopInOrder(dir);
  } catch (error) {
    onDisorder(messageOf(error));
  }
  await takeEveryStep([
    ['containerd', () => stopContainerd(dir, realClock)],
    ['processes of containers', async () => killRemains(await remainsOf(dir))],
    ['network namespaces', () => removeNamespaces(before)],
    [dir, () => cleanContainerd(dir)],
  ]);
}

async function stopInOrder(dir: string): Promise<void> {
  // Containers outlive a containerd that was killed, and only another one can take them down in order.
  if ((await shimsOf(dir)).length > 0) await resumeContainerd(dir);
  if ((await runningContainerd(dir)) === undefined) return;
  const cri = new GrpcCRI({ endpoint: `unix://${containerdPaths(dir).socket}`, clock: realClock, timeoutMs: callMs });
  try {
    await stopAll(cri);
  } finally {
    await cri.close();
  }
}

/** Rejects with the first failure, when all that can be stopped is. */
async function stopAll(cri: CRI): Promise<void> {
  const running = (await cri.listContainers()).filter((container) => container.state === 'CONTAINER_RUNNING');
  const stopped = await Promise.allSettled(running.map((container) => cri.stopContainer(container.id, graceSeconds)));
  const sandboxes = await cri.listPodSandbox();
  stopped.push(...(await Promise.allSettled(sandboxes.map((sandbox) => cri.stopPodSandbox(sandbox.id)))));
  for (const result of stopped) if (result.status === 'rejected') throw result.reason;
}

/** Unmounts the volumes of pods below a directory; those in memory lose their content, as at a restart of the machine. */
export async function unmountVolumes(dir: string): Promise<void> {
  const mounts = await mountsBelow(dir);
  await takeEveryStep(mounts.map((mount) => [`mount ${mount}`, () => endMount(mount)]));
}
