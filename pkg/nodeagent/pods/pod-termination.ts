/** The tasks that end one pod: containers, final status, cleanup on the node, deletion of the object. */
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { KeyedBackoff } from '#apimachinery/backoff/keyed-backoff.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';
import type { PodAdmission } from '#nodeagent/admission/pod-admission.js';
import type { RuntimeService } from '#nodeagent/cri/cri.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import type { ImagePuller } from '#nodeagent/images/puller.js';
import { type ContainerKiller, podGraceSeconds } from '#nodeagent/pods/container-killer.js';
import type { PodFailure } from '#nodeagent/pods/lifecycle.js';
import type { PodCleanup } from '#nodeagent/pods/pod-cleanup.js';
import type { StartBackoff } from '#nodeagent/pods/start-backoff.js';
import type { StatusReporter } from '#nodeagent/pods/status-reporter.js';
import type { Prober } from '#nodeagent/probes/prober.js';
import type { PodCgroups } from '#nodeagent/resources/cgroups.js';
import type { RuntimeObserver } from '#nodeagent/runtime/observer.js';
import { isRunning, isStopped } from '#nodeagent/runtime/pod-runtime.js';
import type { StatusManager } from '#nodeagent/status/manager.js';
import type { PodVolumes } from '#nodeagent/volumes/pod-volumes.js';

/** Services that the termination of all pods shares. */
export interface TerminationServices {
  readonly client: Client;
  readonly log: Logger;
  readonly cri: Pick<RuntimeService, 'stopContainer'>;
  readonly events: PodEvents;
  readonly observer: Pick<RuntimeObserver, 'get' | 'refresh'>;
  readonly statuses: Pick<StatusManager, 'flush' | 'forget'>;
  readonly prober: Pick<Prober, 'stopLiveness' | 'remove'>;
  readonly volumes: Pick<PodVolumes, 'release'>;
  readonly cgroups?: Pick<PodCgroups, 'remove'>;
  readonly cleanup: PodCleanup;
  readonly killer: ContainerKiller;
  /** Back-off entries of starts and pulls; keys begin with the pod's UID. */
  readonly restarts: Pick<KeyedBackoff, 'forget'>;
  readonly puller: Pick<ImagePuller, 'forget'>;
  readonly admission: Pick<PodAdmission, 'forget'>;
}

export class PodTermination {
  readonly #services: TerminationServices;
  readonly #pod: () => Pod;
  readonly #backoff: StartBackoff;
  readonly #reporter: StatusReporter;

  constructor(services: TerminationServices, pod: () => Pod, backoff: StartBackoff, reporter: StatusReporter) {
    this.#services = services;
    this.#pod = pod;
    this.#backoff = backoff;
    this.#reporter = reporter;
  }

  get #uid(): string {
    return this.#pod().metadata.uid ?? '';
  }

  /** Releases the pod's resources, but keeps its exited containers and logs. */
  async finish(failure: PodFailure | undefined): Promise<void> {
    const { observer, events, prober, killer, volumes, cgroups } = this.#services;
    const pod = this.#pod();
    if (failure !== undefined) {
      const { reason, message, isRefusal = false, isEviction = false, isRecorded = false } = failure;
      this.#reporter.failed(isRefusal ? { ...failure, message: `Pod ${message}` } : failure);
      if (!isRecorded) events.pod(pod, isRefusal || isEviction ? 'Warning' : 'Normal', reason, message);
    }
    prober.remove(this.#uid);
    const runtime = await observer.refresh(this.#uid);
    // A completed pod is reported before its network teardown, which may be slow.
    if (failure === undefined) await this.#reporter.report();
    await killer.killAll({ pod, runtime, graceSeconds: failure?.graceSeconds ?? podGraceSeconds(pod) });
    await observer.refresh(this.#uid);
    this.#backoff.clear();
    this.#reporter.ended();
    await this.#reporter.report();
    await volumes.release(this.#uid);
    await cgroups?.remove(this.#uid);
  }

  /** Ends all containers. */
  async stop(graceSeconds: number): Promise<void> {
    const { observer, prober, killer } = this.#services;
    prober.stopLiveness(this.#uid);
    this.#backoff.clear();
    const runtime = await observer.refresh(this.#uid);
    if (!isStopped(runtime)) {
      await killer.killAll({ pod: this.#pod(), runtime, graceSeconds });
      await observer.refresh(this.#uid);
    }
    prober.remove(this.#uid);
    this.#reporter.ended();
  }

  /** Shortens the grace period of running containers after a second deletion. Never rejects. */
  hasten(graceSeconds: number): void {
    const { observer, cri, log } = this.#services;
    for (const container of observer.get(this.#uid)?.containers ?? []) {
      if (!isRunning(container)) continue;
      cri.stopContainer(container.id, graceSeconds).catch((error: unknown) => {
        log.warn({ err: error, uid: this.#uid }, 'shortening the grace period of a container failed');
      });
    }
  }

  /** Resolves once the API has the last status, or no longer has the pod. */
  async conclude(): Promise<void> {
    await this.#reporter.report();
    await this.#services.statuses.flush(this.#uid);
  }

  async remove(): Promise<void> {
    const { observer, cleanup, restarts, puller, statuses, admission } = this.#services;
    const { name = '', namespace = '' } = this.#pod().metadata;
    await cleanup.remove({ ...(await observer.refresh(this.#uid)), name, namespace });
    restarts.forget(`${this.#uid}_`);
    puller.forget(`${this.#uid}_`);
    statuses.forget(this.#uid);
    admission.forget(this.#uid);
  }

  /** Deletes the object unless a new one of the same name has replaced it. */
  async deleteObject(): Promise<void> {
    const { name = '', namespace = '' } = this.#pod().metadata;
    try {
      await this.#services.client
        .resource(pods)
        .delete(name, { namespace, gracePeriodSeconds: 0, preconditions: { uid: this.#uid } });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}
