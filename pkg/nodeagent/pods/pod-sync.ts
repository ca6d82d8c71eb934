/** The tasks that bring a pod's containers to the desired state. */

import type { Pod } from '#api/core/v1/types.gen.js';
import { type Clock, parseTime } from '#apimachinery/clock.js';
import type { PodAdmission } from '#nodeagent/admission/pod-admission.js';
import type { PodSandboxStatus, RuntimeService } from '#nodeagent/cri/cri.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import type { LogFiles } from '#nodeagent/logs/log-files.js';
import type { LogLinks } from '#nodeagent/logs/log-links.js';
import { removeLog } from '#nodeagent/logs/remove-log.js';
import { type ContainerKiller, defaultGraceSeconds } from '#nodeagent/pods/container-killer.js';
import type { ContainerStarter } from '#nodeagent/pods/container-starter.js';
import { type Input, maxRetryMs, type PodFailure } from '#nodeagent/pods/lifecycle.js';
import { type NodeFacts, podFacts } from '#nodeagent/pods/node-facts.js';
import { type ContainerKill, type ContainerStart, type PodPlan, plan } from '#nodeagent/pods/plan.js';
import type { SandboxStarter } from '#nodeagent/pods/sandbox-starter.js';
import { type StartBackoff, StartError } from '#nodeagent/pods/start-backoff.js';
import type { StatusReporter } from '#nodeagent/pods/status-reporter.js';
import type { Prober } from '#nodeagent/probes/prober.js';
import type { LostContainers } from '#nodeagent/runtime/lost-containers.js';
import type { CreatedObject, RuntimeObserver } from '#nodeagent/runtime/observer.js';
import { emptyRuntime, isRunning, type PodRuntime, type RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';
import type { StatusVerifier } from '#nodeagent/runtime/status-verifier.js';
import type { StatusManager } from '#nodeagent/status/manager.js';
import type { PodVolumes } from '#nodeagent/volumes/pod-volumes.js';
import { VolumesError } from '#nodeagent/volumes/volume-error.js';

/** Services that all pods share. */
export interface SyncServices {
  readonly clock: Clock;
  readonly events: PodEvents;
  readonly observer: Pick<RuntimeObserver, 'get' | 'isUnclear' | 'addCreated' | 'refresh'>;
  readonly statuses: Pick<StatusManager, 'latest'>;
  readonly prober: Pick<Prober, 'sync' | 'verdicts'>;
  readonly volumes: Pick<PodVolumes, 'setUp' | 'mounted'>;
  readonly verifier: Pick<StatusVerifier, 'container'>;
  readonly cri: Pick<RuntimeService, 'removeContainer' | 'stopPodSandbox' | 'removePodSandbox'>;
  readonly logFiles: Pick<LogFiles, 'list' | 'remove'>;
  readonly logLinks?: Pick<LogLinks, 'remove'>;
  readonly sandboxes: SandboxStarter;
  readonly containers: ContainerStarter;
  readonly admission: Pick<PodAdmission, 'admit' | 'blocked'>;
  readonly killer: ContainerKiller;
  readonly node: () => NodeFacts;
  /** Annotation that carries a container's hash. */
  readonly hashAnnotation: string;
  /** Exited runs kept of each container besides the newest. */
  readonly keptDead: number;
}

/** Parts that a pod's sync shares with its other tasks. */
export interface PodSyncParts {
  readonly backoff: StartBackoff;
  readonly reporter: StatusReporter;
  readonly lostContainers: LostContainers;
}

/** Retry delay while the network is not ready, as in 1.24. */
const networkRetryMs = 1000;
/** How often a critical pod checks whether preempted pods have freed their resources. */
const roomRetryMs = 500;
const never = Number.POSITIVE_INFINITY;
const nothing: PodPlan = { type: 'run', kill: [], start: [], remove: [], removeSandboxes: [] };
const deadlineExceeded = {
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
};

export class PodSync {
  readonly #services: SyncServices;
  readonly #pod: () => Pod;
  readonly #backoff: StartBackoff;
  readonly #reporter: StatusReporter;
  #condemned: PodFailure | undefined;
  /** A call changed the runtime's state since the last refresh, with an unknown result. */
  #needsRefresh = false;
  /** Objects created since the last refresh by successful calls; only these need a lookup. */
  #createdObjects: CreatedObject[] = [];
  readonly #lostContainers: LostContainers;
  /** Container name → lowest attempt number for its next run. */
  readonly #nextAttempt = new Map<string, number>();
  /** The pod's start: as its status has it, and in monotonic ms. */
  #started: { readonly startTime: string; readonly at: number } | undefined;

  constructor(services: SyncServices, pod: () => Pod, { backoff, reporter, lostContainers: lost }: PodSyncParts) {
    this.#services = services;
    this.#pod = pod;
    this.#backoff = backoff;
    this.#reporter = reporter;
    this.#lostContainers = lost;
  }

  /** The next sync ends the pod. False if it is already condemned. */
  condemn(failure: PodFailure): boolean {
    const isFirst = this.#condemned === undefined;
    this.#condemned ??= failure;
    return isFirst;
  }

  /** `signal` aborts the wait for volumes. */
  async prepare(signal: AbortSignal): Promise<Input> {
    const { statuses, clock, admission, prober } = this.#services;
    const pod = statuses.latest(this.#pod());
    const { phase, startTime } = pod.status ?? {};
    // A completed pod never starts again.
    if (phase === 'Succeeded' || phase === 'Failed')
      return { type: 'planned', plan: { type: 'finish' }, wakeAt: never };
    if (this.#condemned !== undefined)
      return { type: 'planned', plan: { type: 'finish', failure: this.#condemned }, wakeAt: never };
    const verdict = await admission.admit(pod);
    if (verdict.type === 'waiting') return { type: 'planned', plan: nothing, wakeAt: clock.monotonic() + roomRetryMs };
    if (verdict.type === 'refused') {
      const failure = { ...verdict.refusal, isRefusal: true };
      return { type: 'planned', plan: { type: 'finish', failure }, wakeAt: never };
    }
    const blocked = admission.blocked(pod);
    this.#reporter.blocked(blocked);
    if (blocked !== undefined) return { type: 'planned', plan: nothing, wakeAt: never };
    const deadline = this.#deadlineAt(startTime);
    if (clock.monotonic() >= deadline) {
      return { type: 'planned', plan: { type: 'finish', failure: deadlineExceeded }, wakeAt: never };
    }
    const runtime = await this.#refreshRuntime();
    // Runs before slow steps: a container that was ready before the agent's restart stays ready.
    prober.sync(pod, runtime);
    const renewAt = await this.#setUpVolumes(runtime, signal);
    return this.#planned(runtime, Math.min(deadline, renewAt));
  }

  /** The pod's active deadline in monotonic ms. Anchored at the first call, since the wall clock may be set. */
  #deadlineAt(startTime: string | undefined): number {
    const seconds = this.#pod().spec.activeDeadlineSeconds;
    if (seconds === undefined || startTime === undefined) return never;
    const { clock } = this.#services;
    if (this.#started?.startTime !== startTime) {
      this.#started = { startTime, at: clock.monotonic() - Math.max(0, clock.now() - parseTime(startTime)) };
    }
    return this.#started.at + Number(seconds) * 1000;
  }

  async observe(): Promise<Input> {
    const runtime = await this.#refreshRuntime();
    // Skip the report for an empty sandbox: the pod's status has not changed.
    if (runtime.containers.length > 0) await this.#reporter.report();
    return this.#planned(runtime, never);
  }

  /** Uses the cached state unless a call failed since the last refresh. */
  async #refreshRuntime(): Promise<PodRuntime> {
    const { observer } = this.#services;
    if (this.#needsRefresh || observer.isUnclear(this.#uid)) return this.#refresh();
    for (
      let createdObject = this.#createdObjects[0];
      createdObject !== undefined;
      createdObject = this.#createdObjects[0]
    ) {
      await observer.addCreated(this.#uid, createdObject);
      this.#createdObjects.shift();
    }
    const cachedRuntime = observer.get(this.#uid);
    // If no status was ever written, no container can exist.
    if (cachedRuntime === undefined && this.#hasBegun()) return this.#refresh();
    const runtime = cachedRuntime ?? emptyRuntime(this.#pod());
    await this.#checkLost(runtime);
    return runtime;
  }

  /** True if this agent, or an earlier one, has written a status for the pod. */
  #hasBegun(): boolean {
    return this.#services.statuses.latest(this.#pod()).status?.startTime !== undefined;
  }

  async #refresh(): Promise<PodRuntime> {
    const runtime = await this.#services.observer.refresh(this.#uid);
    await this.#checkLost(runtime);
    this.#needsRefresh = false;
    this.#createdObjects = [];
    return runtime;
  }

  async #checkLost(runtime: PodRuntime): Promise<void> {
    await this.#lostContainers.check(this.#services.statuses.latest(this.#pod()), runtime);
  }

  get #uid(): string {
    return this.#pod().metadata.uid ?? '';
  }

  #runtime(): PodRuntime {
    return this.#services.observer.get(this.#uid) ?? emptyRuntime(this.#pod());
  }

  #planned(runtime: PodRuntime, wakeAt: number): Input {
    const { prober, hashAnnotation, statuses } = this.#services;
    const pod = statuses.latest(this.#pod());
    prober.sync(pod, runtime);
    const next = plan({
      pod,
      runtime,
      verdicts: prober.verdicts(this.#uid),
      hashAnnotation,
      keptDead: this.#services.keptDead,
    });
    return { type: 'planned', plan: next, wakeAt };
  }

  /** Returns when volume files are due for renewal. Throws VolumesError if the pod cannot start without a volume. */
  async #setUpVolumes(runtime: PodRuntime, signal: AbortSignal): Promise<number> {
    const { volumes, events, clock, node } = this.#services;
    try {
      return await volumes.setUp(this.#pod(), { facts: podFacts(node(), this.#pod(), runtime), signal });
    } catch (error) {
      if (!(error instanceof VolumesError)) throw error;
      for (const { reason, message } of error.events) events.pod(this.#pod(), 'Warning', reason, message);
      await this.#reporter.report();
      // Running containers continue with their current files.
      if (runtime.containers.some((container) => isRunning(container))) return clock.monotonic() + maxRetryMs;
      throw error;
    }
  }

  async killContainer({ container, message, graceSeconds }: ContainerKill): Promise<void> {
    const pod = this.#pod();
    this.#needsRefresh = true;
    await this.#services.killer.kill({
      pod,
      runtime: this.#runtime(),
      container,
      message,
      graceSeconds: graceSeconds ?? Number(pod.spec.terminationGracePeriodSeconds ?? defaultGraceSeconds),
    });
  }

  async removeContainer(container: RuntimeContainer): Promise<void> {
    this.#needsRefresh = true;
    // A start may have succeeded although its answer was lost or an earlier agent requested it.
    if (container.state === 'CONTAINER_CREATED') {
      if (!(await this.#isUnstarted(container.id))) return;
      // The container may still start before its removal, so never reuse its attempt number.
      this.#nextAttempt.set(container.metadata.name, container.metadata.attempt + 1);
    }
    await this.#services.cri.removeContainer(container.id);
    await removeLog(this.#services.logFiles, container.logPath);
    const { name: pod = '', namespace = '' } = this.#pod().metadata;
    await this.#services.logLinks?.remove({ pod, namespace, container: container.metadata.name, id: container.id });
    this.#reporter.forget(container.id);
  }

  async #isUnstarted(id: string): Promise<boolean> {
    const status = await this.#services.verifier.container(id);
    return status === undefined || status.state === 'CONTAINER_CREATED';
  }

  async removeSandbox(sandbox: PodSandboxStatus): Promise<void> {
    this.#needsRefresh = true;
    await this.#services.cri.removePodSandbox(sandbox.id);
  }

  async createSandbox(attempt: number): Promise<Input> {
    const { clock, cri, events, sandboxes, node } = this.#services;
    const until = this.#backoff.sandboxNotBefore();
    if (until > clock.monotonic()) return { type: 'done', acted: false, wakeAt: until };
    const { networkProblem } = node();
    if (networkProblem !== undefined && this.#pod().spec.hostNetwork !== true) {
      events.pod(this.#pod(), 'Warning', 'NetworkNotReady', `network is not ready: ${networkProblem}`);
      return { type: 'done', acted: false, wakeAt: clock.monotonic() + networkRetryMs };
    }
    for (const sandbox of this.#runtime().sandboxes) {
      if (sandbox.state !== 'SANDBOX_READY') continue;
      this.#needsRefresh = true;
      await cri.stopPodSandbox(sandbox.id);
    }
    if (attempt > 0) {
      const message = 'Pod sandbox changed, it will be killed and re-created.';
      events.pod(this.#pod(), 'Normal', 'SandboxChanged', message);
    }
    try {
      await this.#create(async () => ({ kind: 'sandbox', id: await sandboxes.start(this.#pod(), attempt) }));
      this.#backoff.sandboxStarted();
      return { type: 'done', acted: true, wakeAt: never };
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      this.#backoff.sandboxFailed(error);
      return { type: 'done', acted: false, wakeAt: error.retryAt };
    }
  }

  async startContainer(planned: ContainerStart, signal: AbortSignal): Promise<Input> {
    const attempt = Math.max(planned.attempt, this.#nextAttempt.get(planned.container.name) ?? 0);
    const start = { ...planned, attempt };
    const { clock, containers, sandboxes, volumes } = this.#services;
    const pod = this.#pod();
    const until = this.#backoff.notBefore(pod, start);
    if (until > clock.monotonic()) return { type: 'done', acted: false, wakeAt: until };
    const runtime = this.#runtime();
    const sandbox = runtime.sandboxes[0];
    // The sandbox has disappeared: plan again.
    if (sandbox === undefined) return { type: 'done', acted: true, wakeAt: never };
    const { name } = start.container;
    this.#backoff.starting(start);
    try {
      const options = {
        ...{ pod, runtime, start, signal },
        volumes: volumes.mounted(this.#uid),
        sandboxId: sandbox.id,
        sandbox: await sandboxes.config(pod, sandbox.metadata.attempt),
      };
      const sandboxId = sandbox.id;
      await this.#create(async () => ({ kind: 'container', id: await containers.start(options), sandboxId }));
      this.#backoff.started(name);
      return { type: 'done', acted: true, wakeAt: never };
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      return { type: 'done', acted: error.hasActed, wakeAt: this.#backoff.failed(name, error) };
    }
  }

  /** Records the created object. The result of a failed call is unknown, so the next plan refreshes the pod. */
  async #create(call: () => Promise<CreatedObject>): Promise<void> {
    const before = this.#needsRefresh;
    this.#needsRefresh = true;
    this.#createdObjects.push(await call());
    this.#needsRefresh = before;
  }
}
