/**
 * One pod's worker: brings what runs to what the API wants, one step at a time.
 *
 *     syncing ──(run to its end, failed)──▶ finished ──(deleted)──▶ terminating ──▶ gone
 *        └────────────(deleted, removed, evicted)───────────────────────▲
 *
 * In `syncing` containers are started and restarted; in `finished` nothing runs and the object stays; `terminating`
 * ends everything with its grace period, takes down what the pod had, and lets the object go.
 */

import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { parseTime, type Timer } from '#apimachinery/clock.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { defaultGraceSeconds, killContainer, killPod, removeFromRuntime } from '#nodeagent/pods/container-killer.js';
import {
  makeSandboxConfig,
  podFacts,
  podLogDirectory,
  StartError,
  startContainer,
  startSandbox,
} from '#nodeagent/pods/container-starter.js';
import type { PodContext } from '#nodeagent/pods/context.js';
import { type ContainerStart, type PodPlan, plan } from '#nodeagent/pods/plan.js';
import { StartHolds } from '#nodeagent/pods/start-holds.js';
import { collectTerminationMessages } from '#nodeagent/pods/termination-messages.js';
import { isRunning, isStopped, type PodRuntime } from '#nodeagent/runtime/pod-runtime.js';
import { podStatus } from '#nodeagent/status/pod-status.js';

type State = 'syncing' | 'finished' | 'terminating' | 'gone';
type RunPlan = Extract<PodPlan, { type: 'run' }>;

/** Plans carried out in one go; more would mean that two of them undo each other. */
const maxRounds = 16;
/** How long a stop waits for what is under way. */
const stopMs = 1000;
/** A pod that takes longer than this to start says so in its status. */
const slowStartMs = 150;
const initialRetryMs = 500;
const maxRetryMs = 122_000;

export class PodWorker {
  readonly uid: string;
  readonly #context: PodContext;
  #pod: Pod;
  #state: State = 'syncing';
  /** The object is gone from the API: nothing is reported or deleted any more. */
  #removed = false;
  #failure: { reason: string; message: string } | undefined;
  #interrupt = new AbortController();
  #volumes: ReadonlyMap<string, string> = new Map();
  #initialized = false;
  readonly #holds: StartHolds;
  readonly #terminationMessages = new Map<string, string>();
  #reporting: Promise<void> = Promise.resolve();
  #terminatingGrace = 0;
  #killing = false;
  /** All that ran in it was ended, and nothing will be started any more. */
  #ended = false;
  /** Its containers' remains go, one after the other: what was reported last stays true. */
  #dismantled = false;
  #pending = false;
  #running: Promise<void> | undefined;
  #failures = 0;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(context: PodContext, pod: Pod) {
    this.#context = context;
    this.#pod = pod;
    this.uid = pod.metadata.uid ?? '';
    this.#holds = new StartHolds(context, this.uid);
  }

  get state(): State {
    return this.#state;
  }

  get pod(): Pod {
    return this.#pod;
  }

  /** What the API wants now. */
  update(pod: Pod): void {
    const specChanged = pod.spec !== this.#pod.spec && !semanticEqual(pod.spec, this.#pod.spec);
    this.#pod = pod;
    if (specChanged) this.#holds.release();
    this.#noteTermination();
    this.poke();
  }

  /** The object is gone: what is left of it here goes too. */
  remove(): void {
    this.#removed = true;
    this.#noteTermination();
    this.poke();
  }

  /** Something that the plan depends on has changed. */
  poke(): void {
    if (this.#stopped || this.#state === 'gone') return;
    this.#pending = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#pending) this.poke();
    });
  }

  /** An object that it refers to has changed: what failed for its sake is tried at once. */
  retryNow(): void {
    this.#holds.release();
    this.poke();
  }

  /** Stops working; what runs goes on. Does not wait for grace periods: whoever comes next goes on where this ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#interrupt.abort();
    const over = new AbortController();
    await Promise.race([this.#running, this.#context.clock.sleep(stopMs, over.signal)]);
    over.abort();
  }

  get #mustTerminate(): boolean {
    return this.#removed || this.#pod.metadata.deletionTimestamp !== undefined;
  }

  #noteTermination(): void {
    if (!this.#mustTerminate) return;
    this.#interrupt.abort();
    const grace = this.#graceSeconds();
    if (this.#killing && grace < this.#terminatingGrace) this.#hasten(grace);
  }

  #graceSeconds(): number {
    const { metadata, spec } = this.#pod;
    return metadata.deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? defaultGraceSeconds;
  }

  /** A second deletion gave less time: the containers that still run are told so. */
  #hasten(graceSeconds: number): void {
    this.#terminatingGrace = graceSeconds;
    for (const container of this.#runtime().containers) {
      if (!isRunning(container)) continue;
      this.#context.cri.stopContainer(container.id, graceSeconds).catch((error: unknown) => {
        this.#context.log.warn({ err: error, uid: this.uid }, 'stopping a container sooner failed');
      });
    }
  }

  async #run(): Promise<void> {
    while (this.#pending && !this.#stopped) {
      this.#pending = false;
      this.#timer?.cancel();
      this.#timer = undefined;
      try {
        await this.#step();
        this.#failures = 0;
      } catch (error) {
        if (this.#stopped) return;
        if (this.#interrupt.signal.aborted && this.#state === 'syncing' && this.#mustTerminate) {
          this.#pending = true;
          continue;
        }
        this.#retryLater(error);
      }
    }
  }

  #retryLater(error: unknown): void {
    const { name, namespace } = this.#pod.metadata;
    const delay = Math.min(initialRetryMs * 2 ** this.#failures++, maxRetryMs);
    this.#context.log.warn({ err: error, namespace, name, retryMs: delay }, 'syncing the pod failed');
    this.#wakeAt(this.#context.clock.now() + delay);
  }

  #wakeAt(instant: number): void {
    if (this.#pending || this.#stopped || !Number.isFinite(instant)) return;
    this.#timer?.cancel();
    const { clock } = this.#context;
    this.#timer = clock.setTimer(() => this.poke(), Math.max(0, instant - clock.now()));
  }

  async #step(): Promise<void> {
    switch (this.#state) {
      case 'gone':
        return;
      case 'terminating':
        return this.#terminate();
      case 'finished':
        if (this.#mustTerminate) return this.#terminate();
        return this.#report();
      case 'syncing':
        if (this.#mustTerminate) return this.#terminate();
        return this.#sync();
      default:
        return this.#state satisfies never;
    }
  }

  #runtime(): PodRuntime {
    const { name = '', namespace = '' } = this.#pod.metadata;
    return this.#context.observer.get(this.uid) ?? { uid: this.uid, name, namespace, sandboxes: [], containers: [] };
  }

  async #sync(): Promise<void> {
    const { statuses, clock } = this.#context;
    const phase = statuses.latest(this.#pod).status?.phase;
    if (phase === 'Succeeded' || phase === 'Failed') return this.#finish();
    const deadline = this.#deadline();
    const slow = clock.setTimer(() => void this.#report(), slowStartMs);
    try {
      await this.#syncContainers(deadline);
    } finally {
      slow.cancel();
    }
  }

  async #syncContainers(deadline: number | undefined): Promise<void> {
    const { observer, prober, clock } = this.#context;
    if (deadline !== undefined && clock.now() >= deadline)
      return this.#fail('DeadlineExceeded', 'Pod was active on the node longer than the specified deadline');
    let wakeAt = deadline ?? Number.POSITIVE_INFINITY;

    let runtime = observer.get(this.uid) ?? (await observer.refresh(this.uid));
    const renewAt = await this.#setUpVolumes(runtime);
    if (renewAt === undefined) return;
    wakeAt = Math.min(wakeAt, renewAt);
    for (let round = 0; round < maxRounds; round++) {
      prober.sync(this.#pod, runtime);
      const next = plan({
        pod: this.#pod,
        runtime,
        verdicts: prober.verdicts(this.uid),
        hashAnnotation: this.#context.labels.hash,
      });
      if (next.type === 'finish') return this.#finish();
      const outcome = await this.#carryOut(next, runtime);
      if (this.#mustTerminate) {
        this.#pending = true;
        return;
      }
      if (!outcome.acted) {
        wakeAt = Math.min(wakeAt, outcome.wakeAt);
        break;
      }
      runtime = await observer.refresh(this.uid);
      await this.#report();
      if (round === maxRounds - 1) wakeAt = clock.now() + initialRetryMs;
    }
    prober.sync(this.#pod, runtime);
    await this.#report();
    this.#wakeAt(wakeAt);
  }

  #deadline(): number | undefined {
    const seconds = this.#pod.spec.activeDeadlineSeconds;
    const startTime = this.#context.statuses.latest(this.#pod).status?.startTime;
    return seconds === undefined || startTime === undefined ? undefined : parseTime(startTime) + seconds * 1000;
  }

  /** The instant of the next renewal; undefined when they could not be set up (and it is tried again). */
  async #setUpVolumes(runtime: PodRuntime): Promise<number | undefined> {
    try {
      const facts = podFacts(this.#context, this.#pod, runtime);
      const mounted = await this.#context.volumes.setUp(this.#pod, facts);
      this.#volumes = mounted.paths;
      return mounted.renewAt ?? Number.POSITIVE_INFINITY;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#context.events.pod(this.#pod, 'Warning', 'FailedMount', message);
      await this.#report();
      // What runs goes on with the files it has.
      if (runtime.containers.some((container) => isRunning(container))) return this.#context.clock.now() + maxRetryMs;
      this.#retryLater(error);
      return undefined;
    }
  }

  /** `acted` when the runtime's state may have changed; else when to look again. */
  async #carryOut(next: RunPlan, runtime: PodRuntime): Promise<{ acted: boolean; wakeAt: number }> {
    const { cri, clock } = this.#context;
    let acted = false;
    let wakeAt = Number.POSITIVE_INFINITY;
    for (const { container, message, graceSeconds } of next.kill) {
      const grace = graceSeconds ?? this.#pod.spec.terminationGracePeriodSeconds ?? defaultGraceSeconds;
      await killContainer(this.#context, { pod: this.#pod, runtime, container, message, graceSeconds: grace });
      acted = true;
    }
    if (next.createSandbox !== undefined) {
      const until = this.#holds.sandboxNotBefore();
      if (until > clock.now()) return { acted, wakeAt: until };
      return this.#createSandbox(next.createSandbox, runtime);
    }
    for (const container of next.remove) {
      await cri.removeContainer(container.id);
      await this.#removeLog(container.logPath);
      this.#terminationMessages.delete(container.id);
      acted = true;
    }
    for (const sandbox of next.removeSandboxes) {
      await cri.removePodSandbox(sandbox.id);
      acted = true;
    }
    // Leftovers first: a container that was never started holds the name of its successor.
    if (next.remove.length > 0) return { acted, wakeAt };
    for (const start of next.start) {
      if (this.#mustTerminate) break;
      const until = this.#holds.notBefore(this.#pod, start);
      if (until > clock.now()) wakeAt = Math.min(wakeAt, until);
      else {
        const result = await this.#start(start, runtime);
        acted ||= result.acted;
        wakeAt = Math.min(wakeAt, result.wakeAt);
      }
    }
    return { acted, wakeAt };
  }

  async #removeLog(path: string): Promise<void> {
    if (path !== '') await this.#context.logFiles.remove(path);
  }

  async #createSandbox(attempt: number, runtime: PodRuntime): Promise<{ acted: boolean; wakeAt: number }> {
    for (const sandbox of runtime.sandboxes) {
      if (sandbox.state === 'SANDBOX_READY') await this.#context.cri.stopPodSandbox(sandbox.id);
    }
    if (attempt > 0) {
      const message = 'Pod sandbox changed, it will be killed and re-created.';
      this.#context.events.pod(this.#pod, 'Normal', 'SandboxChanged', message);
    }
    try {
      await startSandbox(this.#context, this.#pod, attempt);
      this.#holds.sandboxStarted();
      return { acted: true, wakeAt: Number.POSITIVE_INFINITY };
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      this.#holds.sandboxFailed(error);
      return { acted: false, wakeAt: error.retryAt };
    }
  }

  async #start(start: ContainerStart, runtime: PodRuntime): Promise<{ acted: boolean; wakeAt: number }> {
    const sandbox = runtime.sandboxes[0];
    if (sandbox === undefined) return { acted: true, wakeAt: Number.POSITIVE_INFINITY };
    const { name } = start.container;
    this.#holds.starting(start);
    try {
      await startContainer(this.#context, {
        pod: this.#pod,
        runtime,
        start,
        volumes: this.#volumes,
        sandboxId: sandbox.id,
        sandbox: await makeSandboxConfig(this.#context, this.#pod, sandbox.metadata.attempt),
        signal: this.#interrupt.signal,
      });
      this.#holds.started(name);
      return { acted: true, wakeAt: Number.POSITIVE_INFINITY };
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      const lookAgainAt = this.#holds.failed(name, error);
      return { acted: lookAgainAt === undefined, wakeAt: lookAgainAt ?? Number.POSITIVE_INFINITY };
    }
  }

  /** Publishes what is now; one report after the other, so that none is overtaken by an older one. Never rejects. */
  #report(): Promise<void> {
    this.#reporting = this.#reporting
      .then(() => this.#publish())
      .catch((error: unknown) => {
        this.#context.log.error({ err: error, uid: this.uid }, 'reporting the status of a pod failed');
      });
    return this.#reporting;
  }

  async #publish(): Promise<void> {
    if (this.#removed || this.#dismantled) return;
    const { statuses, prober, node, clock, runtimeName } = this.#context;
    const runtime = this.#runtime();
    // Before anything is said of their end: whoever watches takes the first word of it for the last.
    await collectTerminationMessages(this.#context, this.#pod, runtime, this.#terminationMessages);
    if (this.#removed) return;
    const pod = statuses.latest(this.#pod);
    const main = new Map(pod.spec.containers.map((container) => [container.name, container]));
    this.#initialized ||= runtime.containers.some((container) => main.has(container.metadata.name));
    const probed =
      (check: typeof prober.isReady) => (container: { id: string; state: string; metadata: { name: string } }) => {
        const spec = main.get(container.metadata.name);
        if (spec === undefined || container.state !== 'CONTAINER_RUNNING') return false;
        return check.call(prober, this.uid, spec, container.id);
      };
    const status = podStatus({
      pod,
      runtime,
      runtimeName,
      waiting: this.#holds.waiting,
      terminationMessages: this.#terminationMessages,
      isStarted: probed(prober.isStarted),
      isReady: probed(prober.isReady),
      initialized: this.#initialized,
      hostIPs: node().hostIPs,
      now: clock.now(),
      over: this.#ended && isStopped(runtime),
      ...(this.#failure === undefined ? {} : { failure: this.#failure }),
    });
    statuses.set(this.uid, status);
  }

  /** Gives the pod up: everything is ended and the phase is Failed. */
  async #fail(reason: string, message: string): Promise<void> {
    this.#failure = { reason, message };
    this.#context.events.pod(this.#pod, 'Normal', reason, message);
    await this.#finish();
  }

  /** Everything has run to its end: gives back what it had, but keeps the containers' remains and logs. */
  async #finish(): Promise<void> {
    const { observer, prober, volumes, cgroups } = this.#context;
    prober.remove(this.uid);
    const runtime = await observer.refresh(this.uid);
    await killPod(this.#context, { pod: this.#pod, runtime, graceSeconds: this.#graceSeconds() });
    await observer.refresh(this.uid);
    this.#holds.clear();
    this.#ended = true;
    await this.#report();
    await volumes.release(this.uid);
    await cgroups?.remove(this.uid);
    this.#state = 'finished';
    if (this.#mustTerminate) this.#pending = true;
  }

  async #terminate(): Promise<void> {
    const { observer, prober, statuses, volumes, cgroups, restarts, puller, logFiles } = this.#context;
    this.#state = 'terminating';
    prober.stopLiveness(this.uid);
    let runtime = await observer.refresh(this.uid);
    if (!isStopped(runtime)) {
      this.#killing = true;
      this.#terminatingGrace = this.#graceSeconds();
      await killPod(this.#context, { pod: this.#pod, runtime, graceSeconds: this.#terminatingGrace });
      this.#killing = false;
      if (this.#stopped) return;
      runtime = await observer.refresh(this.uid);
    }
    prober.remove(this.uid);
    this.#ended = true;
    await this.#report();
    if (this.#removed) statuses.forget(this.uid);
    else await statuses.flush(this.uid);
    if (this.#stopped) return;
    this.#dismantled = true;
    await removeFromRuntime(this.#context, runtime);
    await observer.refresh(this.uid);
    await volumes.tearDown(this.uid);
    await cgroups?.remove(this.uid);
    await logFiles.remove(podLogDirectory(this.#context, this.#pod));
    restarts.forget(`${this.uid}_`);
    puller.forget(`${this.uid}_`);
    await this.#deleteObject();
    statuses.forget(this.uid);
    this.#state = 'gone';
  }

  /** The last act: the object goes, unless it is another one of the same name by now. */
  async #deleteObject(): Promise<void> {
    if (this.#removed) return;
    const { name = '', namespace = '' } = this.#pod.metadata;
    try {
      await this.#context.client
        .resource(pods)
        .delete(name, { namespace, gracePeriodSeconds: 0, preconditions: { uid: this.uid } });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}
