/** Takes a node's container runtime down with all that runs in it. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { realClock } from '#apimachinery/clock.js';
import { containerdPaths, runningContainerd, stopContainerd } from '#nodeagent/containerd/containerd.js';
import { cleanContainerd, mountsBelow } from '#nodeagent/containerd/teardown.js';
import { GrpcCRI } from '#nodeagent/cri/grpc/client.js';

/**
 * Stops every sandbox, then containerd, and removes what it left in the kernel (mounts, its bridge). Containers and
 * images stay on disk for the next start. Does nothing when there never was a runtime in that directory.
 */
export async function stopRuntime(dir: string): Promise<void> {
  if ((await runningContainerd(dir)) !== undefined) {
    const cri = new GrpcCRI({ endpoint: `unix://${containerdPaths(dir).socket}`, clock: realClock });
    try {
      const sandboxes = await cri.listPodSandbox();
      await Promise.all(sandboxes.map((sandbox) => cri.stopPodSandbox(sandbox.id)));
    } finally {
      await cri.close();
    }
  }
  await stopContainerd(dir, realClock);
  await cleanContainerd(dir);
}

/** Unmounts the volumes of pods below a directory; those in memory lose their content, as at a restart of the machine. */
export async function unmountVolumes(dir: string): Promise<void> {
  for (const mount of await mountsBelow(dir)) await promisify(execFile)('umount', ['-l', mount]);
}
