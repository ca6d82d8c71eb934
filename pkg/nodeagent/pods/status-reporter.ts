/** Reports the status of one pod: runtime state, waiting reasons, termination messages. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Refusal } from '#nodeagent/admission/plan.js';
import type { AgentMetrics } from '#nodeagent/metrics/agent-metrics.js';
import type { PodFailure } from '#nodeagent/pods/lifecycle.js';
import type { NodeFacts } from '#nodeagent/pods/node-facts.js';
import type { StartBackoff } from '#nodeagent/pods/start-backoff.js';
import type { TerminationMessages } from '#nodeagent/pods/termination-messages.js';
import type { Prober } from '#nodeagent/probes/prober.js';
import type { LostContainers } from '#nodeagent/runtime/lost-containers.js';
import type { RuntimeObserver } from '#nodeagent/runtime/observer.js';
import { emptyRuntime, isStopped } from '#nodeagent/runtime/pod-runtime.js';
import type { StatusManager } from '#nodeagent/status/manager.js';
import { podStatus } from '#nodeagent/status/pod-status.js';

/** Services that the reporters of all pods share. */
export interface ReportServices {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: AgentMetrics;
  readonly observer: Pick<RuntimeObserver, 'get'>;
  readonly statuses: Pick<StatusManager, 'latest' | 'set'>;
  readonly prober: Pick<Prober, 'isStarted' | 'isReady'>;
  readonly messages: TerminationMessages;
  /** `containerd`, `simulated`: prefix of container IDs in statuses. */
  readonly runtimeName: string;
  readonly node: () => NodeFacts;
}

export class StatusReporter {
  readonly #services: ReportServices;
  readonly #pod: () => Pod;
  readonly #backoff: StartBackoff;
  readonly #lostContainers: LostContainers;
  /** Container ID → its termination message. */
  readonly #messages = new Map<string, string>();
  #last: Promise<void> = Promise.resolve();
  #failure: PodFailure | undefined;
  #blocked: Refusal | undefined;
  #initialized = false;
  /** Monotonic ms. */
  readonly #firstSeenMs: number;
  /** `ended`: all containers have ended, even if the runtime lost some. `silent`: no more reports. */
  #stage: 'live' | 'ended' | 'silent' = 'live';

  constructor(
    services: ReportServices,
    pod: () => Pod,
    { backoff, lost }: { readonly backoff: StartBackoff; readonly lost: LostContainers },
  ) {
    this.#services = services;
    this.#pod = pod;
    this.#backoff = backoff;
    this.#lostContainers = lost;
    this.#firstSeenMs = services.clock.monotonic();
  }

  /** Publishes the current status. Reports run one after the other, so an older one never overtakes. Never rejects. */
  report(): Promise<void> {
    this.#last = this.#last
      .then(() => this.#publish())
      .catch((error: unknown) => {
        const { uid } = this.#pod().metadata;
        this.#services.log.error({ err: error, uid }, 'reporting the pod status failed');
      });
    return this.#last;
  }

  /** Stops all reports. */
  silence(): void {
    this.#stage = 'silent';
  }

  /** Marks the pod as failed. */
  failed(failure: PodFailure): void {
    this.#failure = failure;
  }

  /** The reason why the pod waits for something the node lacks; undefined if it does not wait. */
  blocked(why: Refusal | undefined): void {
    this.#blocked = why;
  }

  /** All containers of the pod were ended, and none will start again. */
  ended(): void {
    if (this.#stage === 'live') this.#stage = 'ended';
  }

  /** Drops the message of a removed container. */
  forget(containerId: string): void {
    this.#messages.delete(containerId);
  }

  get #isSilent(): boolean {
    return this.#stage === 'silent';
  }

  async #publish(): Promise<void> {
    if (this.#isSilent) return;
    const { observer, statuses, messages, node, clock, runtimeName } = this.#services;
    const { uid = '' } = this.#pod().metadata;
    const runtime = observer.get(uid) ?? emptyRuntime(this.#pod());
    await this.#lostContainers.check(statuses.latest(this.#pod()), runtime);
    // Collect messages before the first report of an exit: clients take that report as final.
    await messages.collect(this.#pod(), runtime, this.#messages);
    if (this.#isSilent) return;
    const pod = statuses.latest(this.#pod());
    const main = new Set(pod.spec.containers.map((container) => container.name));
    this.#initialized ||= runtime.containers.some((container) => main.has(container.metadata.name));
    const status = podStatus({
      pod,
      runtime,
      runtimeName,
      waiting: this.#backoff.waiting,
      terminationMessages: this.#messages,
      isStarted: this.#probed(pod, 'isStarted'),
      isReady: this.#probed(pod, 'isReady'),
      initialized: this.#initialized,
      hostIPs: node().hostIPs,
      now: clock.now(),
      over: this.#stage === 'ended' && isStopped(runtime),
      ...(this.#failure === undefined ? {} : { failure: this.#failure }),
      ...(this.#blocked === undefined ? {} : { blocked: this.#blocked }),
    });
    this.#measureStart(pod.status?.phase, status.phase);
    statuses.set(uid, status);
  }

  /** Measures only pods that did not run when this agent first saw them. A fast start is never reported as pending. */
  #measureStart(before: string | undefined, phase: string | undefined): void {
    if ((before ?? 'Pending') !== 'Pending' || phase !== 'Running') return;
    const { metrics, clock } = this.#services;
    metrics.podStartSeconds.observe((clock.monotonic() - this.#firstSeenMs) / 1000);
  }

  /** The probe results of running main containers. */
  #probed(pod: Pod, question: 'isStarted' | 'isReady') {
    const main = new Map(pod.spec.containers.map((container) => [container.name, container]));
    return (container: { id: string; state: string; metadata: { name: string } }): boolean => {
      const spec = main.get(container.metadata.name);
      if (spec === undefined || container.state !== 'CONTAINER_RUNNING') return false;
      return this.#services.prober[question](pod.metadata.uid ?? '', spec, container.id);
    };
  }
}
