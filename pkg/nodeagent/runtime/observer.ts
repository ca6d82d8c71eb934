/**
 * Keeps what the runtime holds of every pod, and tells which pod changed. Driven by the runtime's events; a slow
 * listing catches what they miss, a quick one stands in while the runtime gives none.
 */
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Container, CRI, PodSandbox, PodSandboxStatus, RuntimeEvent } from '#nodeagent/cri/cri.js';
import type { AgentMetrics } from '#nodeagent/metrics/agent-metrics.js';
import type { RuntimeLabels } from '#nodeagent/runtime/labels.js';
import type { PodRuntime, RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';
import { FollowUps } from '#nodeagent/runtime/relist-schedule.js';
import { ContradictionError, Inquiry } from '#nodeagent/runtime/status-verifier.js';

export interface RuntimeObserverOptions {
  readonly cri: CRI;
  readonly clock: Clock;
  readonly log: Logger;
  readonly labels: RuntimeLabels;
  readonly metrics: AgentMetrics;
}

/** While events come. What they miss is to be known long before those who wait for it give up, kubectl after a minute. */
const slowRelistMs = 15_000;
/** While none come; release 1.24 lists this often always. */
const quickRelistMs = 1000;
/**
 * An event of what is not known: an exit is looked for soon; what starts is mostly this agent's doing, which looks by itself
 * when the call has returned.
 */
const unknownMs = { running: 2000, stopped: 200 } as const;

/** A sandbox, or a container and the sandbox that it is in. */
export type MadeObject =
  | { readonly kind: 'sandbox'; readonly id: string }
  | { readonly kind: 'container'; readonly id: string; readonly sandboxId: string };

type Detail = PodSandboxStatus | RuntimeContainer;

/** Of what was made and started just now. */
const asMade: ReadonlySet<string> = new Set(['SANDBOX_READY', 'CONTAINER_RUNNING']);

interface Entry {
  readonly runtime: PodRuntime;
  /** Number of the observation it came from: later ones are never overwritten by earlier ones. */
  readonly observation: number;
  /** That was about a single object: a listing that was begun before it may know more of the others. */
  readonly ofOne: boolean;
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
  readonly #followUps: FollowUps;
  readonly #inquiry: Inquiry;
  /** Id → when it is looked for. */
  readonly #unknown = new Map<string, Timer>();
  /** Events of what is to be found by the next listing. */
  #unlisted: RuntimeEvent[] = [];
  /** UIDs of pods of which the runtime lists something that could not be looked at. */
  readonly #unclear = new Set<string>();
  #observations = 0;
  #connected = false;
  #failing = false;
  #listedAt: number | undefined;
  #relistTimer: Timer | undefined;
  /** When, by the clock that is never set; of no meaning without the timer. */
  #relistDue = 0;
  #unsubscribe: (() => void) | undefined;
  #stopped = false;

  constructor(options: RuntimeObserverOptions) {
    this.#cri = options.cri;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#labels = options.labels;
    this.#metrics = options.metrics;
    this.#followUps = new FollowUps(options.clock);
    this.#inquiry = new Inquiry(options.cri);
  }

  /** Lists once, then follows. Rejects when the runtime cannot be listed. */
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
    this.#followUps.stop();
    for (const timer of this.#unknown.values()) timer.cancel();
  }

  /** When the last listing that succeeded was begun, by the clock that is never set (ms); undefined: none has yet. */
  get listedAt(): number | undefined {
    return this.#listedAt;
  }

  /** The runtime has something of that pod that could not be looked at. */
  isUnclear(uid: string): boolean {
    return this.#unclear.has(uid);
  }

  /** Whether the runtime has anything of that pod, also what could not be looked at. */
  holds(uid: string): boolean {
    return this.#pods.has(uid) || this.#unclear.has(uid);
  }

  /** Calls back with the UID of each pod whose runtime state changed. */
  onChange(handler: (uid: string) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  /** Calls back when the runtime answers again after it did not. */
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
    // What happened in between was told to nobody.
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
    // Of what it became unknown, any change is an answer. Of an end none is but the end: a container that starts and ends
    // at once, or beside others of its pod, changes more than once.
    let changed = false;
    this.#followUps.start({
      key: `${id} ${became}`,
      isOver: () => this.#stopped || (became === undefined ? changed : this.#shows(uid, id, became)),
      look: async () => {
        changed = await this.#look(uid);
      },
    });
  }

  #onUnknown(event: RuntimeEvent): void {
    const { id, became = 'stopped' } = event;
    this.#unknown.get(id)?.cancel();
    const look = () => {
      this.#unknown.delete(id);
      if (this.#uidOf.has(id)) {
        this.#onEvent(event);
        return;
      }
      // All that end at once are found by one listing.
      this.#unlisted.push(event);
      this.#scheduleRelist(unknownMs.stopped);
    };
    this.#unknown.set(id, this.#clock.setTimer(look, unknownMs[became]));
  }

  /** Of a container or sandbox, which starts once and ends once. */
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

  /** Whether something had changed. */
  async #look(uid: string): Promise<boolean> {
    try {
      const before = this.#pods.get(uid)?.runtime;
      await this.refresh(uid);
      return this.#pods.get(uid)?.runtime !== before;
    } catch (error) {
      this.#log.debug({ err: error, uid }, 'looking at a pod in the runtime failed');
      return false;
    }
  }

  /** A listing that is due sooner stays: what asks for one again and again does not put it off. */
  #scheduleRelist(delay = this.#relistMs): void {
    const due = this.#clock.monotonic() + delay;
    if (this.#stopped || (this.#relistTimer !== undefined && this.#relistDue <= due)) return;
    this.#relistTimer?.cancel();
    this.#relistDue = due;
    this.#relistTimer = this.#clock.setTimer(() => {
      this.#relistTimer = undefined;
      this.relist()
        .catch((error: unknown) => this.#log.debug({ err: error }, 'listing the runtime failed'))
        .finally(() => {
          // What came meanwhile may ask for another one sooner.
          if (this.#relistTimer === undefined) this.#scheduleRelist();
        });
    }, delay);
  }

  get #relistMs(): number {
    return this.#connected && !this.#failing && this.#unclear.size === 0 ? slowRelistMs : quickRelistMs;
  }

  /** Lists everything: one call for sandboxes, one for containers, and one for each that changed. */
  async relist(): Promise<void> {
    const listed = this.#metrics.relisting(this.#clock.monotonic(), this.#clock.now());
    try {
      await this.#relist();
    } finally {
      listed(this.#clock.monotonic());
    }
  }

  async #relist(): Promise<void> {
    const observation = ++this.#observations;
    const begunAt = this.#clock.monotonic();
    // Where it fails they are dropped: the next listing comes a second later, long after them.
    const unlisted = this.#unlisted.splice(0);
    let sandboxes: PodSandbox[];
    let containers: Container[];
    try {
      [sandboxes, containers] = await Promise.all([this.#cri.listPodSandbox(), this.#cri.listContainers()]);
    } catch (error) {
      if (!this.#failing) this.#log.warn({ err: error }, 'the container runtime does not answer');
      this.#failing = true;
      throw error;
    }
    const recovered = this.#failing;
    this.#failing = false;
    this.#listedAt = begunAt;
    if (recovered) {
      this.#log.info('the container runtime answers again');
      for (const handler of this.#recoveryHandlers) handler();
    }
    const byPod = new Map<string, { sandboxes: PodSandbox[]; containers: Container[] }>();
    const group = (uid: string) => {
      const known = byPod.get(uid) ?? { sandboxes: [], containers: [] };
      byPod.set(uid, known);
      return known;
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
        // A pod that the runtime cannot tell of does not hide the others.
        this.#log.warn({ err: error, uid }, 'the container runtime does not tell of a pod that it has');
      }
    }
    // A listing may be behind its own runtime's events. What it still does not know is nobody's.
    for (const event of unlisted) if (this.#uidOf.has(event.id)) this.#onEvent(event);
  }

  /** What the runtime holds of that pod now. */
  async refresh(uid: string): Promise<PodRuntime> {
    const observation = ++this.#observations;
    const filter = { labelSelector: { [this.#labels.podUID]: uid } };
    const [sandboxes, containers] = await Promise.all([
      this.#cri.listPodSandbox(filter),
      this.#cri.listContainers(filter),
    ]);
    // A runtime may not know of filters.
    const isOfPod = ({ labels }: PodSandbox | Container) => labels[this.#labels.podUID] === uid;
    const listed = { sandboxes: sandboxes.filter(isOfPod), containers: containers.filter(isOfPod) };
    await this.#apply(uid, listed, observation);
    return this.get(uid) ?? { uid, name: '', namespace: '', sandboxes: [], containers: [] };
  }

  /**
   * Takes in what has just been made in the pod, by one call for it instead of listings of all. What else has happened in
   * the pod since the last listing stays as it was known. Throws ContradictionError and CRIError.
   */
  async learn(uid: string, made: MadeObject): Promise<PodRuntime> {
    const observation = ++this.#observations;
    const found = await this.#detailOf(made);
    const latest = this.#pods.get(uid);
    const isOvertaken = latest !== undefined && latest.observation > observation;
    // What is not as it should be is believed where a listing agrees; a later one has told of this one, too.
    if (found === undefined || !asMade.has(found.state) || isOvertaken) return this.refresh(uid);
    const { sandboxes = [], containers = [] } = latest?.runtime ?? {};
    const runtime = isContainer(found)
      ? describe(uid, [...sandboxes], withNewest(containers, found), this.#labels)
      : describe(uid, withNewest(sandboxes, found), [...containers], this.#labels);
    this.#uidOf.set(found.id, uid);
    this.#pods.set(uid, { runtime, observation, ofOne: true });
    if (latest === undefined || !same(latest.runtime, runtime)) this.#changed(uid);
    return runtime;
  }

  async #detailOf(made: MadeObject): Promise<Detail | undefined> {
    if (made.kind === 'sandbox') return this.#inquiry.sandbox(made.id);
    const status = await this.#inquiry.container(made.id);
    return status === undefined ? undefined : { ...status, podSandboxId: made.sandboxId };
  }

  async #apply(
    uid: string,
    listed: { sandboxes: PodSandbox[]; containers: Container[] },
    observation: number,
  ): Promise<void> {
    const known = this.#pods.get(uid);
    if (known !== undefined && known.observation > observation) return this.#overtaken(uid, known);
    const old = known?.runtime;
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
      this.#pods.set(uid, { runtime: latest?.runtime ?? old, observation, ofOne: false });
      return;
    }
    for (const { id } of [...sandboxes, ...containers]) this.#uidOf.set(id, uid);
    for (const { id } of [...(old?.sandboxes ?? []), ...(old?.containers ?? [])]) {
      if (![...sandboxes, ...containers].some((object) => object.id === id)) this.#uidOf.delete(id);
    }
    this.#pods.set(uid, { runtime, observation, ofOne: false });
    this.#changed(uid);
  }

  /** What was found out later counts; where that was about one object only, all are looked at again. */
  async #overtaken(uid: string, by: Entry): Promise<void> {
    if (by.ofOne) await this.refresh(uid);
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
        if (owner !== uid) throw new ContradictionError(`the runtime lists ${id} as of ${uid}, and tells of ${owner}`);
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

  /** What is not listed any more is asked for: a listing may lack what is there. */
  async #sandboxDetails(listed: PodSandbox[], old: PodRuntime | undefined): Promise<PodSandboxStatus[]> {
    const details: PodSandboxStatus[] = [];
    for (const sandbox of listed) {
      const known = old?.sandboxes.find((s) => s.id === sandbox.id && s.state === sandbox.state);
      const status = known ?? (await this.#inquiry.listedSandbox(sandbox));
      if (status !== undefined) details.push(status);
    }
    for (const { id } of old?.sandboxes ?? []) {
      if (listed.some((sandbox) => sandbox.id === id)) continue;
      const status = await this.#inquiry.sandbox(id);
      if (status !== undefined) details.push(status);
    }
    return details.sort(newestFirst);
  }

  async #containerDetails(listed: Container[], old: PodRuntime | undefined): Promise<RuntimeContainer[]> {
    const details: RuntimeContainer[] = [];
    for (const container of listed) {
      const known = old?.containers.find((c) => c.id === container.id && c.state === container.state);
      const status = known ?? (await this.#inquiry.listedContainer(container));
      if (status !== undefined) details.push({ ...status, podSandboxId: container.podSandboxId });
    }
    for (const { id, podSandboxId } of old?.containers ?? []) {
      if (listed.some((container) => container.id === id)) continue;
      const status = await this.#inquiry.container(id);
      if (status !== undefined) details.push({ ...status, podSandboxId });
    }
    return details.sort(newestFirst);
  }
}

/** A runtime may list the same object twice, or one that has no name. */
function distinct<T extends { readonly id: string }>(listed: readonly T[]): T[] {
  return [...new Map(listed.filter(({ id }) => id !== '').map((object) => [object.id, object])).values()];
}

interface Created {
  readonly metadata: { readonly attempt: number };
  readonly createdAt: number;
}

/** Attempts only grow; the wall clock that tells when they were made may have been set back in between. */
function newestFirst(a: Created, b: Created): number {
  return b.metadata.attempt - a.metadata.attempt || b.createdAt - a.createdAt;
}

function isContainer(detail: Detail): detail is RuntimeContainer {
  return 'podSandboxId' in detail;
}

function withNewest<T extends Created & { readonly id: string }>(known: readonly T[], found: T): T[] {
  return [...known.filter(({ id }) => id !== found.id), found].sort(newestFirst);
}

function describe(
  uid: string,
  sandboxes: PodSandboxStatus[],
  containers: RuntimeContainer[],
  labels: RuntimeLabels,
): PodRuntime {
  const written = sandboxes[0]?.labels ?? containers[0]?.labels ?? {};
  return {
    uid,
    name: written[labels.podName] ?? '',
    namespace: written[labels.podNamespace] ?? '',
    sandboxes,
    containers,
  };
}

function same(a: PodRuntime, b: PodRuntime): boolean {
  const states = (objects: readonly { id: string; state: string }[]) => objects.map((o) => `${o.id} ${o.state}`).join();
  return states(a.sandboxes) === states(b.sandboxes) && states(a.containers) === states(b.containers);
}
