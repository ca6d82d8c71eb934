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
  readonly observer: Pick<RuntimeObserver, 'get' | 'refresh'>;
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

  /** Removes every trace of a stopped pod. */
  async remove(runtime: PodRuntime): Promise<void> {
    const { cri, observer, volumes, cgroups, logFiles, logLinks, podLogsDir } = this.#options;
    for (const container of runtime.containers) await cri.removeContainer(container.id);
    for (const sandbox of runtime.sandboxes) {
      await cri.stopPodSandbox(sandbox.id);
      await cri.removePodSandbox(sandbox.id);
    }
    await observer.refresh(runtime.uid);
    await volumes.tearDown(runtime.uid);
    await cgroups?.remove(runtime.uid);
    await logFiles.remove(join(podLogsDir, logDirectoryName(runtime)));
    const { name: pod, namespace } = runtime;
    for (const { id, metadata } of runtime.containers)
      await logLinks?.remove({ pod, namespace, container: metadata.name, id });
  }

  /**
   * Removes folders, logs and cgroups of pods that neither the API nor the runtime know. `isKnown`: by UID, to the API.
   * Returns whether all of it is gone: a mount in use keeps its pod's folder.
   */
  async removeUnknown(isKnown: (uid: string) => boolean): Promise<boolean> {
    const { log, observer, volumes, cgroups, logFiles, logLinks, podLogsDir } = this.#options;
    let isComplete = true;
    const known = (uid: string) => isKnown(uid) || observer.get(uid) !== undefined;
    for (const uid of await volumes.list()) {
      if (known(uid)) continue;
      try {
        await volumes.tearDown(uid);
        log.info({ podUID: uid }, 'Cleaned up orphaned pod volumes dir');
      } catch (error) {
        isComplete = false;
        const message = 'Orphaned pod found, but error occurred when trying to remove the volumes dir';
        log.error({ err: error, podUID: uid }, message);
      }
    }
    for (const uid of (await cgroups?.list()) ?? []) if (!known(uid)) await cgroups?.remove(uid);
    for (const directory of await logFiles.list(podLogsDir)) {
      const uid = directory.split('_').at(-1) ?? '';
      if (directory.split('_').length === 3 && !known(uid)) await logFiles.remove(`${podLogsDir}/${directory}`);
    }
    await logLinks?.removeDead(podLogsDir);
    return isComplete;
  }
}
