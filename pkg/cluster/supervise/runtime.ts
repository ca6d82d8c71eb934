/** Runs a node's containerd, and stops it with its containers. */
import { connect } from 'node:net';
import { Backoff } from '#apimachinery/backoff/backoff.js';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import {
  type Containerd,
  type ContainerdOptions,
  containerdPaths,
  resumeContainerd,
  runningContainerd,
  startContainerd,
  stopContainerd,
} from '#containerd/containerd.js';
import { takeEveryStep } from '#containerd/every-step.js';
import { killRemains, remainsOf, removeNamespaces, shimsOf } from '#containerd/remains.js';
import { cleanContainerd } from '#containerd/teardown.js';
import type { Logger } from '#daemon/log/logger.js';
import type { CRI } from '#nodeagent/cri/cri.js';
import { GrpcCRI } from '#nodeagent/cri/grpc/client.js';
import { endMount, mountsBelow } from '#nodeagent/files/mounts.js';

const firstRestartMs = 250;
const maxRestartMs = 10_000;

export interface RuntimeKeeperOptions {
  readonly containerd: ContainerdOptions;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Keeps a node's containerd running: starts it, and restarts it when it exits. */
export class RuntimeKeeper {
  readonly #options: RuntimeKeeperOptions;
  readonly #stop = new AbortController();
  #keeping: Promise<void> = Promise.resolve();

  constructor(options: RuntimeKeeperOptions) {
    this.#options = options;
  }

  /** Starts containerd unless it is running. Rejects when it does not start. */
  async start(): Promise<Containerd> {
    const containerd = await startContainerd({ ...this.#options.containerd, detached: true });
    this.#keeping = this.#keep(containerd.socket);
    return containerd;
  }

  /** Stops the supervision. containerd keeps running: it is needed to stop its containers. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#keeping;
  }

  async #keep(socket: string): Promise<void> {
    const { clock, log, containerd } = this.#options;
    const { signal } = this.#stop;
    const backoff = new Backoff({ initialMs: firstRestartMs, maxMs: maxRestartMs });
    while (!signal.aborted) {
      if (await heldUntilClosed(socket, signal)) {
        // containerd closes idle connections; only a refused connection means that it has exited.
        backoff.reset();
        continue;
      }
      if (signal.aborted) return;
      log.warn({ dir: containerd.dir }, 'containerd exited; restarting it');
      try {
        await startContainerd({ ...containerd, detached: true });
      } catch (error) {
        const delayMs = backoff.nextMs();
        log.error({ err: error, dir: containerd.dir, delayMs }, 'cannot restart containerd');
        await clock.sleep(delayMs, signal);
      }
    }
  }
}

/** Connects, and resolves when the connection is closed: with true after an established one, with false after a failed attempt. */
function heldUntilClosed(path: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(false);
    let isConnected = false;
    const socket = connect(path);
    const end = () => socket.destroy();
    signal.addEventListener('abort', end, { once: true });
    socket.once('connect', () => {
      isConnected = true;
    });
    socket.on('error', () => undefined);
    socket.resume();
    socket.once('close', () => {
      signal.removeEventListener('abort', end);
      resolve(isConnected && !signal.aborted);
    });
  });
}

/** Grace period of containers when the cluster stops; seconds. */
const graceSeconds = 5;

/** Time limit of each call while the runtime stops, beyond the grace period: the default of minutes is too long here. */
const callMs = 30_000;

/**
 * Stops all containers and sandboxes, then containerd, and removes its mounts and its bridge. Stopped containers and images
 * stay on disk for the next start. Does nothing for a directory without a runtime. Kills containers that do not stop, after
 * calling `onProblem`. Throws LeftBehindError when something remains.
 */
export async function stopRuntime(dir: string, onProblem: (problem: string) => void): Promise<void> {
  // Read first: after containerd has removed a sandbox, its network namespace is unknown.
  const before = await remainsOf(dir);
  try {
    await stopInOrder(dir);
  } catch (error) {
    onProblem(messageOf(error));
  }
  await takeEveryStep([
    ['containerd', () => stopContainerd(dir, realClock)],
    ['processes of containers', async () => killRemains(await remainsOf(dir))],
    ['network namespaces', () => removeNamespaces(before)],
    [dir, () => cleanContainerd(dir)],
  ]);
}

async function stopInOrder(dir: string): Promise<void> {
  // Containers outlive a killed containerd, and only a new one can stop them gracefully.
  if ((await shimsOf(dir)).length > 0) await resumeContainerd(dir);
  if ((await runningContainerd(dir)) === undefined) return;
  const cri = new GrpcCRI({ endpoint: `unix://${containerdPaths(dir).socket}`, clock: realClock, timeoutMs: callMs });
  try {
    await stopAll(cri);
  } finally {
    await cri.close();
  }
}

/** Rejects with the first failure, after trying to stop all of them. */
async function stopAll(cri: CRI): Promise<void> {
  const running = (await cri.listContainers()).filter((container) => container.state === 'CONTAINER_RUNNING');
  const stopped = await Promise.allSettled(running.map((container) => cri.stopContainer(container.id, graceSeconds)));
  const sandboxes = await cri.listPodSandbox();
  stopped.push(...(await Promise.allSettled(sandboxes.map((sandbox) => cri.stopPodSandbox(sandbox.id)))));
  for (const result of stopped) if (result.status === 'rejected') throw result.reason;
}

/** Unmounts the volumes of pods below a directory. Volumes in memory lose their content. */
export async function unmountVolumes(dir: string): Promise<void> {
  const mounts = await mountsBelow(dir);
  await takeEveryStep(mounts.map((mount) => [`mount ${mount}`, () => endMount(mount)]));
}
