/** The tasks that end one pod: what runs, what is told of it, what it had on the node, its object. */
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
import type { PodRemains } from '#nodeagent/pods/pod-cleanup.js';
import type { StartBackoff } from '#nodeagent/pods/start-backoff.js';
import type { StatusReporter } from '#nodeagent/pods/status-reporter.js';
import type { Prober } from '#nodeagent/probes/prober.js';
import type { PodCgroups } from '#nodeagent/resources/cgroups.js';
import type { RuntimeObserver } from '#nodeagent/runtime/observer.js';
import { isRunning, isStopped } from '#nodeagent/runtime/pod-runtime.js';
import type { StatusManager } from '#nodeagent/status/manager.js';
import type { PodVolumes } from '#nodeagent/volumes/pod-volumes.js';

/** What the ends of all pods share. */
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
  readonly remains: PodRemains;
  readonly killer: ContainerKiller;
  /** What is remembered of starts and pulls, by keys that begin with the pod's UID. */
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

  /** Gives back what the pod had, but keeps its containers' remains and logs. */
  async finish(failure: PodFailure | undefined): Promise<void> {
    const { observer, events, prober, killer, volumes, cgroups } = this.#services;
    const pod = this.#pod();
    if (failure !== undefined) {
      const { reason, message, isRefusal = false, isEviction = false } = failure;
      this.#reporter.failed(isRefusal ? { ...failure, message: `Pod ${message}` } : failure);
      events.pod(pod, isRefusal || isEviction ? 'Warning' : 'Normal', reason, message);
    }
    prober.remove(this.#uid);
    const runtime = await observer.refresh(this.#uid);
    // It has ended by itself: nobody is to wait for that word until its network is taken down, too, which may take its time.
    if (failure === undefined) await this.#reporter.report();
    await killer.killAll({ pod, runtime, graceSeconds: failure?.graceSeconds ?? podGraceSeconds(pod) });
    await observer.refresh(this.#uid);
    this.#backoff.clear();
    this.#reporter.ended();
    await this.#reporter.report();
    await volumes.release(this.#uid);
    await cgroups?.remove(this.#uid);
  }

  /** Ends everything that runs. */
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

  /** A second deletion gave less time: the containers that still run are told so. Never rejects. */
  hasten(graceSeconds: number): void {
    const { observer, cri, log } = this.#services;
    for (const container of observer.get(this.#uid)?.containers ?? []) {
      if (!isRunning(container)) continue;
      cri.stopContainer(container.id, graceSeconds).catch((error: unknown) => {
        log.warn({ err: error, uid: this.#uid }, 'stopping a container sooner failed');
      });
    }
  }

  /** Resolves when the API has the last status, or has forgotten the pod. */
  async conclude(): Promise<void> {
    await this.#reporter.report();
    await this.#services.statuses.flush(this.#uid);
  }

  async remove(): Promise<void> {
    const { observer, remains, restarts, puller, statuses, admission } = this.#services;
    const { name = '', namespace = '' } = this.#pod().metadata;
    await remains.remove({ ...(await observer.refresh(this.#uid)), name, namespace });
    restarts.forget(`${this.#uid}_`);
    puller.forget(`${this.#uid}_`);
    statuses.forget(this.#uid);
    admission.forget(this.#uid);
  }

  /** The last act: the object goes, unless it is another one of the same name by now. */
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
