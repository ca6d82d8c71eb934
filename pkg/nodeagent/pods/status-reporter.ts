/** Reports the status of one pod: what the runtime holds, why containers wait, and what they said at their end. */
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

/** What the reporters of all pods share. */
export interface ReportServices {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: AgentMetrics;
  readonly observer: Pick<RuntimeObserver, 'get'>;
  readonly statuses: Pick<StatusManager, 'latest' | 'set'>;
  readonly prober: Pick<Prober, 'isStarted' | 'isReady'>;
  readonly messages: TerminationMessages;
  /** `containerd`, `simulated`: prefix of container ids in statuses. */
  readonly runtimeName: string;
  readonly node: () => NodeFacts;
}

export class StatusReporter {
  readonly #services: ReportServices;
  readonly #pod: () => Pod;
  readonly #backoff: StartBackoff;
  readonly #lost: LostContainers;
  /** Container id → what it said at its end. */
  readonly #messages = new Map<string, string>();
  #last: Promise<void> = Promise.resolve();
  #failure: PodFailure | undefined;
  #blocked: Refusal | undefined;
  #initialized = false;
  /** Monotonic ms. */
  readonly #firstSeenMs: number;
  /** Once it has ended, what nobody saw end has ended too; once silent, nothing is reported any more. */
  #stage: 'live' | 'ended' | 'silent' = 'live';

  constructor(
    services: ReportServices,
    pod: () => Pod,
    { backoff, lost }: { readonly backoff: StartBackoff; readonly lost: LostContainers },
  ) {
    this.#services = services;
    this.#pod = pod;
    this.#backoff = backoff;
    this.#lost = lost;
    this.#firstSeenMs = services.clock.monotonic();
  }

  /** Publishes what is now; one report after the other, so that none is overtaken by an older one. Never rejects. */
  report(): Promise<void> {
    this.#last = this.#last
      .then(() => this.#publish())
      .catch((error: unknown) => {
        const { uid } = this.#pod().metadata;
        this.#services.log.error({ err: error, uid }, 'reporting the status of a pod failed');
      });
    return this.#last;
  }

  /** From now on nothing is reported. */
  silence(): void {
    this.#stage = 'silent';
  }

  /** The agent has given the pod up. */
  failed(failure: PodFailure): void {
    this.#failure = failure;
  }

  /** The pod waits for what the node does not have; undefined: it does not. */
  blocked(why: Refusal | undefined): void {
    this.#blocked = why;
  }

  /** All that ran in the pod was ended, and nothing will be started any more. */
  ended(): void {
    if (this.#stage === 'live') this.#stage = 'ended';
  }

  /** The container is no longer there to be reported. */
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
    await this.#lost.check(statuses.latest(this.#pod()), runtime);
    // Before anything is said of their end: whoever watches takes the first word of it for the last.
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

  /** Of a pod that was not running when this agent saw it first. A fast start is never told as pending. */
  #measureStart(before: string | undefined, phase: string | undefined): void {
    if ((before ?? 'Pending') !== 'Pending' || phase !== 'Running') return;
    const { metrics, clock } = this.#services;
    metrics.podStartSeconds.observe((clock.monotonic() - this.#firstSeenMs) / 1000);
  }

  /** What the probes say of a main container that runs. */
  #probed(pod: Pod, question: 'isStarted' | 'isReady') {
    const main = new Map(pod.spec.containers.map((container) => [container.name, container]));
    return (container: { id: string; state: string; metadata: { name: string } }): boolean => {
      const spec = main.get(container.metadata.name);
      if (spec === undefined || container.state !== 'CONTAINER_RUNNING') return false;
      return this.#services.prober[question](pod.metadata.uid ?? '', spec, container.id);
    };
  }
}
