/** Removes all data of a pod on the node: runtime objects, volumes, files, cgroup and logs. */
import { join } from 'node:path';
import type { Logger } from '#daemon/log/logger.js';
import type { RuntimeService } from '#nodeagent/cri/cri.js';
import type { LogFiles } from '#nodeagent/logs/log-files.js';
import type { LogLinks } from '#nodeagent/logs/log-links.js';
import { logDirectoryName } from '#nodeagent/pods/runtime-config.js';
import type { PodCgroups } from '#nodeagent/resources/cgroups.js';
import type { RuntimeObserver } from '#nodeagent/runtime/observer.js';
import type { PodRuntime } from '#nodeagent/runtime/pod-runtime.js';
import type { PodVolumes } from '#nodeagent/volumes/pod-volumes.js';

export interface PodCleanupOptions {
  readonly log: Logger;
  readonly cri: Pick<RuntimeService, 'removeContainer' | 'stopPodSandbox' | 'removePodSandbox'>;
  readonly observer: Pick<RuntimeObserver, 'holds' | 'refresh'>;
  readonly volumes: Pick<PodVolumes, 'tearDown' | 'list'>;
  readonly cgroups?: Pick<PodCgroups, 'list' | 'remove'>;
  readonly logFiles: Pick<LogFiles, 'list' | 'remove'>;
  readonly logLinks?: Pick<LogLinks, 'remove' | 'removeDead'>;
  readonly podLogsDir: string;
}

export class PodCleanup {
  readonly #options: PodCleanupOptions;

  constructor(options: PodCleanupOptions) {
    this.#options = options;
  }

  /** Removes everything of a stopped pod. Rejects while the runtime still has some of it. */
  async remove(runtime: PodRuntime): Promise<void> {
    const { cri, observer, volumes, cgroups, logFiles, logLinks, podLogsDir } = this.#options;
    // Removes the newest container last, so that after a crash its state is still the pod's last run.
    for (const container of runtime.containers.toReversed()) await cri.removeContainer(container.id);
    for (const sandbox of runtime.sandboxes) {
      await cri.stopPodSandbox(sandbox.id);
      await cri.removePodSandbox(sandbox.id);
    }
    const { containers, sandboxes } = await observer.refresh(runtime.uid);
    // Keep the files until the runtime no longer lists the pod, since a container may still run.
    if (containers.length + sandboxes.length > 0)
      throw new Error('the runtime still has containers or sandboxes of the pod');
    await volumes.tearDown(runtime.uid);
    await cgroups?.remove(runtime.uid);
    await logFiles.remove(join(podLogsDir, logDirectoryName(runtime)));
    const { name: pod, namespace } = runtime;
    for (const { id, metadata } of runtime.containers)
      await logLinks?.remove({ pod, namespace, container: metadata.name, id });
  }

  /**
   * Removes volumes, logs and cgroups of pods that neither the API nor the runtime has. `isKnown` tells whether the API
   * has a UID. Never rejects: failures are logged.
   */
  async removeUnknown(isKnown: (uid: string) => boolean): Promise<void> {
    const { observer, volumes, cgroups, logFiles, podLogsDir } = this.#options;
    const isUnknown = (uid: string) => !isKnown(uid) && !observer.holds(uid);
    await this.#attempt('volumes', async () => {
      for (const uid of await volumes.list()) if (isUnknown(uid)) await this.#tearDown(uid);
    });
    await this.#attempt('cgroups', async () => {
      for (const uid of (await cgroups?.list()) ?? []) if (isUnknown(uid)) await cgroups?.remove(uid);
    });
    await this.#attempt('logs', async () => {
      for (const directory of await logFiles.list(podLogsDir)) {
        const [, , uid = '', ...more] = directory.split('_');
        if (uid !== '' && more.length === 0 && isUnknown(uid)) await logFiles.remove(`${podLogsDir}/${directory}`);
      }
    });
  }

  /** Removes dangling log links. Never rejects. */
  async removeDeadLinks(): Promise<void> {
    const { logLinks, podLogsDir } = this.#options;
    await this.#attempt('links to logs', async () => logLinks?.removeDead(podLogsDir));
  }

  /** A mount in use blocks only its own pod. */
  async #tearDown(uid: string): Promise<void> {
    const { log, volumes } = this.#options;
    try {
      await volumes.tearDown(uid);
      log.info({ podUID: uid }, 'cleaned up orphaned pod volumes dir');
    } catch (error) {
      const message = 'failed to clean up orphaned pod volumes dir';
      log.error({ err: error, podUID: uid }, message);
    }
  }

  async #attempt(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.log.warn({ err: error, what }, 'cleanup of orphaned pods failed');
    }
  }
}
