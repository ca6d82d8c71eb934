/** All that a pod leaves on the node: in the runtime, volumes and files, its cgroup, its logs. */
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

export interface PodRemainsOptions {
  readonly log: Logger;
  readonly cri: Pick<RuntimeService, 'removeContainer' | 'stopPodSandbox' | 'removePodSandbox'>;
  readonly observer: Pick<RuntimeObserver, 'holds' | 'refresh'>;
  readonly volumes: Pick<PodVolumes, 'tearDown' | 'list'>;
  readonly cgroups?: Pick<PodCgroups, 'list' | 'remove'>;
  readonly logFiles: Pick<LogFiles, 'list' | 'remove'>;
  readonly logLinks?: Pick<LogLinks, 'remove' | 'removeDead'>;
  readonly podLogsDir: string;
}

export class PodRemains {
  readonly #options: PodRemainsOptions;

  constructor(options: PodRemainsOptions) {
    this.#options = options;
  }

  /** Removes every trace of a stopped pod. Rejects while there is something left of it in the runtime. */
  async remove(runtime: PodRuntime): Promise<void> {
    const { cri, observer, volumes, cgroups, logFiles, logLinks, podLogsDir } = this.#options;
    // The newest last: whoever goes on where this ended must not take an older run for the last one.
    for (const container of runtime.containers.toReversed()) await cri.removeContainer(container.id);
    for (const sandbox of runtime.sandboxes) {
      await cri.stopPodSandbox(sandbox.id);
      await cri.removePodSandbox(sandbox.id);
    }
    const { containers, sandboxes } = await observer.refresh(runtime.uid);
    // It may run still, whatever was said: its files stay until it is gone.
    if (containers.length + sandboxes.length > 0) throw new Error('the runtime still has something of the pod');
    await volumes.tearDown(runtime.uid);
    await cgroups?.remove(runtime.uid);
    await logFiles.remove(join(podLogsDir, logDirectoryName(runtime)));
    const { name: pod, namespace } = runtime;
    for (const { id, metadata } of runtime.containers)
      await logLinks?.remove({ pod, namespace, container: metadata.name, id });
  }

  /**
   * Removes folders, logs and cgroups of pods that neither the API nor the runtime know. `isKnown`: by UID, to the API.
   * Never rejects: what cannot be removed stays, and is told.
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

  /** Removes the links to logs that are gone. Never rejects. */
  async removeDeadLinks(): Promise<void> {
    const { logLinks, podLogsDir } = this.#options;
    await this.#attempt('links to logs', async () => logLinks?.removeDead(podLogsDir));
  }

  /** A mount in use keeps its pod's folder, and no other. */
  async #tearDown(uid: string): Promise<void> {
    const { log, volumes } = this.#options;
    try {
      await volumes.tearDown(uid);
      log.info({ podUID: uid }, 'Cleaned up orphaned pod volumes dir');
    } catch (error) {
      const message = 'Orphaned pod found, but error occurred when trying to remove the volumes dir';
      log.error({ err: error, podUID: uid }, message);
    }
  }

  async #attempt(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.log.warn({ err: error, what }, 'removing what pods have left failed');
    }
  }
}
