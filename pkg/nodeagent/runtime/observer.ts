/**
 * Caches the runtime's state of every pod and reports which pod changed. Driven by the runtime's events; a slow listing
 * finds missed changes, and a quick one replaces events while there are none.
 */
import { type Clock, pauseClock, type Timer } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Container, CRI, PodSandbox, PodSandboxStatus, RuntimeEvent } from '#nodeagent/cri/cri.js';
import type { AgentMetrics } from '#nodeagent/metrics/agent-metrics.js';
import type { RuntimeLabels } from '#nodeagent/runtime/labels.js';
import type { PodRuntime, RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';
import { RelistSchedule } from '#nodeagent/runtime/relist-schedule.js';
import { ContradictionError, StatusVerifier } from '#nodeagent/runtime/status-verifier.js';

export interface RuntimeObserverOptions {
  readonly cri: CRI;
  readonly clock: Clock;
  readonly log: Logger;
  readonly labels: RuntimeLabels;
  readonly metrics: AgentMetrics;
}

/** Period while events arrive. Must find missed changes well before clients time out; kubectl does after a minute. */
const slowRelistMs = 15_000;
/** Period without events; release 1.24 always lists this often. */
const quickRelistMs = 1000;
/**
 * Delay before handling an event of an unknown object. Exits are urgent; starts mostly come from this agent, which
 * refreshes the pod itself after its call.
 */
const unknownMs = { running: 2000, stopped: 200 } as const;

/** A new sandbox, or a new container and its sandbox. */
export type CreatedObject =
  | { readonly kind: 'sandbox'; readonly id: string }
  | { readonly kind: 'container'; readonly id: string; readonly sandboxId: string };

type Detail = PodSandboxStatus | RuntimeContainer;

/** States of a successfully started object. */
const startedStates: ReadonlySet<string> = new Set(['SANDBOX_READY', 'CONTAINER_RUNNING']);

interface Entry {
  readonly runtime: PodRuntime;
  /** Sequence number of its observation: newer observations are never overwritten by older ones. */
  readonly observation: number;
  /** The observation covered one object only; an earlier listing may know more about the others. */
  readonly isPartial: boolean;
}

export class RuntimeObserver {
  readonly #cri: CRI;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #labels: RuntimeLabels;
  readonly #metrics: AgentMetrics;
  readonly #pods = new Map<string, Entry>();
  readonly #uidOf = new Map<string, string>();
  readonly #handlers = new Set<(uid: string) => void>();
  readonly #recoveryHandlers = new Set<() => void>();
  readonly #relists: RelistSchedule;
  readonly #verifier: StatusVerifier;
  /** Object ID → timer of its lookup. */
  readonly #unknown = new Map<string, Timer>();
  /** Events whose objects the next listing should contain. */
  #unlisted: RuntimeEvent[] = [];
  /** UIDs of pods with objects whose status could not be read. */
  readonly #unclear = new Set<string>();
  #observations = 0;
  #connected = false;
  #failing = false;
  #listedAt: number | undefined;
  #relistTimer: Timer | undefined;
  /** Due time of the timer (monotonic ms); meaningless without the timer. */
  #relistDue = 0;
  #unsubscribe: (() => void) | undefined;
  #stopped = false;

  constructor(options: RuntimeObserverOptions) {
    this.#cri = options.cri;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#labels = options.labels;
    this.#metrics = options.metrics;
    this.#relists = new RelistSchedule(options.clock);
    this.#verifier = new StatusVerifier(options.cri);
  }

  /** Lists once, then subscribes. Rejects if the runtime cannot be listed. */
  async start(): Promise<void> {
    await this.relist();
    this.#unsubscribe = this.#cri.subscribe({
      onEvent: (event) => this.#onEvent(event),
      onConnected: (connected) => this.#onConnected(connected),
    });
    this.#scheduleRelist();
  }

  stop(): void {
    this.#stopped = true;
    this.#unsubscribe?.();
    this.#relistTimer?.cancel();
    this.#relists.stop();
    for (const timer of this.#unknown.values()) timer.cancel();
  }

  /** Start of the last successful listing (monotonic ms); undefined before the first. */
  get listedAt(): number | undefined {
    return this.#listedAt;
  }

  /** True if the status of one of the pod's objects could not be read. */
  isUnclear(uid: string): boolean {
    return this.#unclear.has(uid);
  }

  /** True if the runtime has anything of the pod, including objects with unreadable status. */
  holds(uid: string): boolean {
    return this.#pods.has(uid) || this.#unclear.has(uid);
  }

  /** Calls back with the UID of each pod whose runtime state changed. */
  onChange(handler: (uid: string) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  /** Calls back when the runtime answers again after failures. */
  onRecovery(handler: () => void): () => void {
    this.#recoveryHandlers.add(handler);
    return () => this.#recoveryHandlers.delete(handler);
  }

  get(uid: string): PodRuntime | undefined {
    return this.#pods.get(uid)?.runtime;
  }

  list(): PodRuntime[] {
    return [...this.#pods.values()].map((entry) => entry.runtime);
  }

  #onConnected(connected: boolean): void {
    if (this.#stopped || connected === this.#connected) return;
    this.#connected = connected;
    // Events in between are lost, so list now.
    this.#scheduleRelist(0);
  }

  #onEvent(event: RuntimeEvent): void {
    if (this.#stopped) return;
    const { id, became } = event;
    const uid = event.podUID ?? this.#uidOf.get(id);
    if (uid === undefined) {
      this.#onUnknown(event);
      return;
    }
    // Without a known target state, any change ends the relists. Otherwise wait for that state: a container that starts
    // and ends at once, or beside others of its pod, changes more than once.
    let changed = false;
    this.#relists.start({
      key: `${id} ${became}`,
      isOver: () => this.#stopped || (became === undefined ? changed : this.#shows(uid, id, became)),
      run: async () => {
        changed = await this.#refreshAfterEvent(uid);
      },
    });
  }

  #onUnknown(event: RuntimeEvent): void {
    const { id, became = 'stopped' } = event;
    this.#unknown.get(id)?.cancel();
    const handle = () => {
      this.#unknown.delete(id);
      if (this.#uidOf.has(id)) {
        this.#onEvent(event);
        return;
      }
      // One listing covers all objects that end at the same time.
      this.#unlisted.push(event);
      this.#scheduleRelist(unknownMs.stopped);
    };
    this.#unknown.set(id, pauseClock(this.#clock).setTimer(handle, unknownMs[became]));
  }

  /** True if the cached state includes the event's change. Objects start once and end once. */
  #shows(uid: string, id: string, became: NonNullable<RuntimeEvent['became']>): boolean {
    const { containers = [], sandboxes = [] } = this.#pods.get(uid)?.runtime ?? {};
    const container = containers.find((each) => each.id === id);
    if (container !== undefined) {
      const { state } = container;
      return state === 'CONTAINER_EXITED' || (state === 'CONTAINER_RUNNING' && became === 'running');
    }
    const sandbox = sandboxes.find((each) => each.id === id);
    return sandbox !== undefined && (sandbox.state === 'SANDBOX_NOTREADY' || became === 'running');
  }

  /** Refreshes the pod; true if its state changed. */
  async #refreshAfterEvent(uid: string): Promise<boolean> {
    try {
      const before = this.#pods.get(uid)?.runtime;
      await this.refresh(uid);
      return this.#pods.get(uid)?.runtime !== before;
    } catch (error) {
      this.#log.debug({ err: error, uid }, 'refreshing a pod from the runtime failed');
      return false;
    }
  }

  /** Keeps an earlier due time, so that repeated requests do not postpone the listing. */
  #scheduleRelist(delay = this.#relistMs): void {
    const due = this.#clock.monotonic() + delay;
    if (this.#stopped || (this.#relistTimer !== undefined && this.#relistDue <= due)) return;
    this.#relistTimer?.cancel();
    this.#relistDue = due;
    this.#relistTimer = pauseClock(this.#clock).setTimer(() => {
      this.#relistTimer = undefined;
      this.relist()
        .catch((error: unknown) => this.#log.debug({ err: error }, 'listing the runtime failed'))
        .finally(() => {
          // Skip if a sooner one was scheduled meanwhile.
          if (this.#relistTimer === undefined) this.#scheduleRelist();
        });
    }, delay);
  }

  get #relistMs(): number {
    return this.#connected && !this.#failing && this.#unclear.size === 0 ? slowRelistMs : quickRelistMs;
  }

  /** Lists everything: one call for sandboxes, one for containers, and one for each changed object. */
  async relist(): Promise<void> {
    const recordRelist = this.#metrics.relisting(this.#clock.monotonic(), this.#clock.now());
    try {
      await this.#relist();
    } finally {
      recordRelist(this.#clock.monotonic());
    }
  }

  async #relist(): Promise<void> {
    const observation = ++this.#observations;
    const begunAt = this.#clock.monotonic();
    // On failure these events are dropped: the next listing a second later covers them.
    const unlisted = this.#unlisted.splice(0);
    let sandboxes: PodSandbox[];
    let containers: Container[];
    try {
      [sandboxes, containers] = await Promise.all([this.#cri.listPodSandbox(), this.#cri.listContainers()]);
    } catch (error) {
      if (!this.#failing) this.#log.warn({ err: error }, 'container runtime does not answer');
      this.#failing = true;
      throw error;
    }
    const recovered = this.#failing;
    this.#failing = false;
    this.#listedAt = begunAt;
    if (recovered) {
      this.#log.info('container runtime answers again');
      for (const handler of this.#recoveryHandlers) handler();
    }
    const byPod = new Map<string, { sandboxes: PodSandbox[]; containers: Container[] }>();
    const group = (uid: string) => {
      const podObjects = byPod.get(uid) ?? { sandboxes: [], containers: [] };
      byPod.set(uid, podObjects);
      return podObjects;
    };
    for (const sandbox of sandboxes) {
      const uid = sandbox.labels[this.#labels.podUID];
      if (uid !== undefined) group(uid).sandboxes.push(sandbox);
    }
    for (const container of containers) {
      const uid = container.labels[this.#labels.podUID];
      if (uid !== undefined) group(uid).containers.push(container);
    }
    for (const uid of this.#pods.keys()) group(uid);
    for (const uid of this.#unclear) if (!byPod.has(uid)) this.#unclear.delete(uid);
    for (const [uid, listed] of byPod) {
      try {
        await this.#apply(uid, listed, observation);
      } catch (error) {
        // One unreadable pod must not hide the others.
        this.#log.warn({ err: error, uid }, 'reading a listed pod from the container runtime failed');
      }
    }
    // A listing may lag behind events. Objects that are still unknown belong to no pod.
    for (const event of unlisted) if (this.#uidOf.has(event.id)) this.#onEvent(event);
  }

  /** Reads the runtime's current state of a pod. */
  async refresh(uid: string): Promise<PodRuntime> {
    const observation = ++this.#observations;
    const filter = { labelSelector: { [this.#labels.podUID]: uid } };
    const [sandboxes, containers] = await Promise.all([
      this.#cri.listPodSandbox(filter),
      this.#cri.listContainers(filter),
    ]);
    // Some runtimes ignore filters.
    const isOfPod = ({ labels }: PodSandbox | Container) => labels[this.#labels.podUID] === uid;
    const listed = { sandboxes: sandboxes.filter(isOfPod), containers: containers.filter(isOfPod) };
    await this.#apply(uid, listed, observation);
    return this.get(uid) ?? { uid, name: '', namespace: '', sandboxes: [], containers: [] };
  }

  /**
   * Adds an object that was just created, with a single call instead of a listing. Other changes since the last listing
   * are not included. Throws ContradictionError and CRIError.
   */
  async addCreated(uid: string, object: CreatedObject): Promise<PodRuntime> {
    const observation = ++this.#observations;
    const detail = await this.#detailOf(object);
    const latest = this.#pods.get(uid);
    const isOvertaken = latest !== undefined && latest.observation > observation;
    // Refresh if the object does not run yet, which only a listing confirms. A newer observation has included it.
    if (detail === undefined || !startedStates.has(detail.state) || isOvertaken) return this.refresh(uid);
    const { sandboxes = [], containers = [] } = latest?.runtime ?? {};
    const runtime = isContainer(detail)
      ? describe(uid, [...sandboxes], withNewest(containers, detail), this.#labels)
      : describe(uid, withNewest(sandboxes, detail), [...containers], this.#labels);
    this.#uidOf.set(detail.id, uid);
    this.#pods.set(uid, { runtime, observation, isPartial: true });
    if (latest === undefined || !same(latest.runtime, runtime)) this.#changed(uid);
    return runtime;
  }

  async #detailOf(object: CreatedObject): Promise<Detail | undefined> {
    if (object.kind === 'sandbox') return this.#verifier.sandbox(object.id);
    const status = await this.#verifier.container(object.id);
    return status === undefined ? undefined : { ...status, podSandboxId: object.sandboxId };
  }

  async #apply(
    uid: string,
    listed: { sandboxes: PodSandbox[]; containers: Container[] },
    observation: number,
  ): Promise<void> {
    const cachedEntry = this.#pods.get(uid);
    if (cachedEntry !== undefined && cachedEntry.observation > observation) return this.#overtaken(uid, cachedEntry);
    const old = cachedEntry?.runtime;
    const { sandboxes, containers } = await this.#details(uid, listed, old);
    const latest = this.#pods.get(uid);
    if (latest !== undefined && latest.observation > observation) return this.#overtaken(uid, latest);
    if (sandboxes.length === 0 && containers.length === 0) {
      if (latest === undefined) return;
      this.#forget(latest.runtime);
      this.#changed(uid);
      return;
    }
    const runtime = describe(uid, sandboxes, containers, this.#labels);
    if (old !== undefined && same(old, runtime)) {
      this.#pods.set(uid, { runtime: latest?.runtime ?? old, observation, isPartial: false });
      return;
    }
    for (const { id } of [...sandboxes, ...containers]) this.#uidOf.set(id, uid);
    for (const { id } of [...(old?.sandboxes ?? []), ...(old?.containers ?? [])]) {
      if (![...sandboxes, ...containers].some((object) => object.id === id)) this.#uidOf.delete(id);
    }
    this.#pods.set(uid, { runtime, observation, isPartial: false });
    this.#changed(uid);
  }

  /** The newer observation counts; if it covered one object only, refresh the whole pod. */
  async #overtaken(uid: string, by: Entry): Promise<void> {
    if (by.isPartial) await this.refresh(uid);
  }

  async #details(
    uid: string,
    listed: { sandboxes: PodSandbox[]; containers: Container[] },
    old: PodRuntime | undefined,
  ): Promise<{ sandboxes: PodSandboxStatus[]; containers: RuntimeContainer[] }> {
    try {
      const sandboxes = await this.#sandboxDetails(distinct(listed.sandboxes), old);
      const containers = await this.#containerDetails(distinct(listed.containers), old);
      for (const { id, labels } of [...sandboxes, ...containers]) {
        const owner = labels[this.#labels.podUID];
        if (owner !== uid)
          throw new ContradictionError(`the runtime lists ${id} for pod ${uid}, but its status says pod ${owner}`);
      }
      this.#unclear.delete(uid);
      return { sandboxes, containers };
    } catch (error) {
      this.#unclear.add(uid);
      throw error;
    }
  }

  #forget(runtime: PodRuntime): void {
    this.#pods.delete(runtime.uid);
    for (const { id } of [...runtime.sandboxes, ...runtime.containers]) this.#uidOf.delete(id);
  }

  #changed(uid: string): void {
    for (const handler of this.#handlers) handler(uid);
  }

  /** Objects that left the listing are read individually, since a listing may be incomplete. */
  async #sandboxDetails(listed: PodSandbox[], old: PodRuntime | undefined): Promise<PodSandboxStatus[]> {
    const details: PodSandboxStatus[] = [];
    for (const sandbox of listed) {
      const cachedStatus = old?.sandboxes.find((s) => s.id === sandbox.id && s.state === sandbox.state);
      const status = cachedStatus ?? (await this.#verifier.listedSandbox(sandbox));
      if (status !== undefined) details.push(status);
    }
    for (const { id } of old?.sandboxes ?? []) {
      if (listed.some((sandbox) => sandbox.id === id)) continue;
      const status = await this.#verifier.sandbox(id);
      if (status !== undefined) details.push(status);
    }
    return details.sort(newestFirst);
  }

  async #containerDetails(listed: Container[], old: PodRuntime | undefined): Promise<RuntimeContainer[]> {
    const details: RuntimeContainer[] = [];
    for (const container of listed) {
      const cachedStatus = old?.containers.find((c) => c.id === container.id && c.state === container.state);
      const status = cachedStatus ?? (await this.#verifier.listedContainer(container));
      if (status !== undefined) details.push({ ...status, podSandboxId: container.podSandboxId });
    }
    for (const { id, podSandboxId } of old?.containers ?? []) {
      if (listed.some((container) => container.id === id)) continue;
      const status = await this.#verifier.container(id);
      if (status !== undefined) details.push({ ...status, podSandboxId });
    }
    return details.sort(newestFirst);
  }
}

/** A runtime may list the same object twice, or one without an ID. */
function distinct<T extends { readonly id: string }>(listed: readonly T[]): T[] {
  return [...new Map(listed.filter(({ id }) => id !== '').map((object) => [object.id, object])).values()];
}

interface Created {
  readonly metadata: { readonly attempt: number };
  readonly createdAt: number;
}

/** Attempts only grow; creation times may decrease when the wall clock is set back. */
function newestFirst(a: Created, b: Created): number {
  return b.metadata.attempt - a.metadata.attempt || b.createdAt - a.createdAt;
}

function isContainer(detail: Detail): detail is RuntimeContainer {
  return 'podSandboxId' in detail;
}

function withNewest<T extends Created & { readonly id: string }>(objects: readonly T[], newObject: T): T[] {
  return [...objects.filter(({ id }) => id !== newObject.id), newObject].sort(newestFirst);
}

function describe(
  uid: string,
  sandboxes: PodSandboxStatus[],
  containers: RuntimeContainer[],
  labels: RuntimeLabels,
): PodRuntime {
  const labelsOfObject = sandboxes[0]?.labels ?? containers[0]?.labels ?? {};
  return {
    uid,
    name: labelsOfObject[labels.podName] ?? '',
    namespace: labelsOfObject[labels.podNamespace] ?? '',
    sandboxes,
    containers,
  };
}

function same(a: PodRuntime, b: PodRuntime): boolean {
  const states = (objects: readonly { id: string; state: string }[]) => objects.map((o) => `${o.id} ${o.state}`).join();
  return states(a.sandboxes) === states(b.sandboxes) && states(a.containers) === states(b.containers);
}
