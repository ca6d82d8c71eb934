/** The node agent: registers the node, runs its pods, and serves their logs and sessions. */
import type { Pod, PodStatus } from '#api/core/v1/types.gen.js';
import { aborted } from '#apimachinery/async/abort.js';
import { type Deferred, deferred } from '#apimachinery/async/deferred.js';
import { type Clock, pauseClock, upkeepClock } from '#apimachinery/clock.js';
import type { Daemon } from '#daemon/daemon.js';
import { type AgentParts, composeAgent } from '#nodeagent/compose.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { fullName, type StaticPods } from '#nodeagent/sources/static-pods.js';
import type { StatusManager } from '#nodeagent/status/manager.js';

export class NodeAgent implements Daemon {
  readonly name: string;
  readonly #options: NodeAgentOptions;
  readonly #deps: NodeAgentDependencies;
  readonly #ready: Deferred<void> = deferred();
  /** Resolves once the API's pods are running. */
  readonly #apiPodsStarted: Deferred<void> = deferred();
  readonly #stop = new AbortController();
  #work: Promise<void> | undefined;
  /** While the agent runs. */
  #parts: AgentParts | undefined;
  #port = 0;

  constructor(options: NodeAgentOptions, dependencies: NodeAgentDependencies) {
    this.#options = options;
    this.#deps = dependencies;
    this.name = dependencies.informers.client.dialect.components.nodeAgent;
    this.#ready.promise.catch(() => undefined);
  }

  get nodeName(): string {
    return this.#deps.nodeName;
  }

  /** Port of the server, once it listens. */
  get port(): number {
    return this.#port;
  }

  get isRunning(): boolean {
    return this.#parts !== undefined;
  }

  /** Pods with a running task or a status to be written: `namespace/name` or UID. */
  unfinished(): readonly string[] {
    return this.#parts === undefined ? [] : [...this.#parts.manager.working(), ...this.#parts.statuses.unwritten()];
  }

  /** See `PodManager.forget`. */
  async forgetPods(keys: ReadonlySet<string>): Promise<void> {
    await this.#parts?.manager.forget(keys);
  }

  async start(signal: AbortSignal): Promise<void> {
    const abort = () => this.#stop.abort();
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    this.#work = this.#run(this.#stop.signal);
    try {
      await this.#work;
      this.#ready.reject(new Error('the node agent was stopped before it was ready'));
    } catch (error) {
      this.#ready.reject(error);
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** Resolves once the node is registered and Ready, and its pods are running. */
  ready(): Promise<void> {
    return this.#ready.promise;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#work?.catch(() => undefined);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const parts = await composeAgent(this.#options, this.#deps, () => this.#port);
    this.#parts = parts;
    const server = await parts.serve();
    this.#port = server?.port ?? 0;
    const running: Promise<void>[] = [];
    const failed = deferred();
    const run = (work: Promise<void>) => {
      work.catch(failed.reject);
      running.push(work);
    };
    try {
      await this.#runParts(parts, { run, failed: failed.promise }, signal);
    } finally {
      this.#stop.abort();
      this.#parts = undefined;
      await server?.close();
      await parts.podResources?.stop();
      await parts.manager.stop();
      await parts.devicePlugins?.stop();
      parts.observer.stop();
      parts.close();
      await Promise.allSettled(running);
      await parts.closeRecorder();
    }
  }

  /** Resolves when the agent should stop; rejects if a part fails. */
  async #runParts(
    parts: AgentParts,
    background: { run(work: Promise<void>): void; failed: Promise<void> },
    signal: AbortSignal,
  ): Promise<void> {
    const { statuses, observer, manager, rotator, reclaim, announcer, statics, readStatics, registrar } = parts;
    const { shutdown, nodeCgroups, systemCgroups, plugins, devicePlugins, podResources, cpus, allocations } = parts;
    const { clock, isStandalone = false } = this.#deps;
    await parts.csi?.volumes.reconstruct(await (parts.directories?.list() ?? []));
    // Cgroups must exist before pods start.
    await nodeCgroups?.start();
    if (nodeCgroups !== undefined) background.run(nodeCgroups.run(signal));
    if (systemCgroups !== undefined) background.run(systemCgroups.run(signal));
    if (shutdown !== undefined) background.run(shutdown.run(signal));
    // Before pods are admitted, the agent knows what they had before its restart.
    await devicePlugins?.start();
    const registered = deferred();
    if (isStandalone) {
      await registrar.standAlone();
      registered.resolve();
    } else this.#register(parts, { background, onRegistered: registered.resolve }, signal);
    background.run(statuses.run(signal));
    background.run(readStatics(signal));
    // Wait for the runtime; until then the node is not ready.
    await retryUntilSuccess(() => observer.start(), { clock, signal });
    if (signal.aborted) return;
    // The first listing may make the node ready.
    registrar.poke();
    manager.start();
    await podResources?.start();
    if (rotator !== undefined) background.run(rotator.run(signal));
    background.run(reclaim.evictor.run(signal));
    background.run(reclaim.containers.run(signal));
    if (reclaim.memoryWatch !== undefined) background.run(reclaim.memoryWatch.run(signal));
    if (reclaim.images !== undefined) background.run(reclaim.images.run(signal));
    if (plugins !== undefined) background.run(plugins.run(signal));
    if (cpus !== undefined) background.run(cpus.run(signal, () => allocations.retainActive()));
    if (this.#options.runonce) return untilContainersRun({ statics, statuses, clock, signal });
    if (isStandalone) background.run(this.#clean(parts, signal));
    else background.run(this.#runPodsOfAPI(parts, background, signal));
    if (announcer !== undefined) background.run(announcer.run(signal));
    await Promise.race([registered.promise, background.failed, aborted(signal)]);
    if (!isStandalone) await Promise.race([this.#apiPodsStarted.promise, background.failed, aborted(signal)]);
    if (!signal.aborted) this.#ready.resolve();
    await Promise.race([background.failed, aborted(signal)]);
  }

  #register(
    { registrar, lease, informers, csi }: AgentParts,
    { background, onRegistered }: { background: { run(work: Promise<void>): void }; onRegistered: () => void },
    signal: AbortSignal,
  ): void {
    const unsubscribe = informers.node.addHandler({
      onAdd: (node) => registrar.observe(node),
      onUpdate: (node) => registrar.observe(node),
      onDelete: () => registrar.observe(undefined),
    });
    signal.addEventListener('abort', unsubscribe, { once: true });
    const registered = () => {
      onRegistered();
      if (csi !== undefined) background.run(csi.nodeObjects.run(signal));
    };
    background.run(registrar.run(signal, registered));
    background.run(lease.run(signal));
  }

  /** Static pods run meanwhile, with or without the API. */
  async #runPodsOfAPI(
    parts: AgentParts,
    background: { run(work: Promise<void>): void },
    signal: AbortSignal,
  ): Promise<void> {
    const { informers, manager, mirrors } = parts;
    const { clock } = this.#deps;
    await until(() => informers.pods.hasSynced() && informers.services.hasSynced(), { clock, signal });
    if (signal.aborted) return;
    manager.startAPI();
    this.#apiPodsStarted.resolve();
    background.run(mirrors.run(signal));
    await this.#clean(parts, signal);
  }

  /** Removes orphans only once all sources have reported their pods. */
  async #clean({ manager, statics, csi }: AgentParts, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    await until(() => statics.hasSynced, { clock, signal });
    for (let round = 0; !signal.aborted; round++) {
      await manager.removeUnknown();
      csi?.volumes.unstageUnused();
      if (round % roundsPerLinks === 0) await manager.removeDeadLinks();
      await upkeepClock(clock).sleep(housekeepingMs, signal);
    }
  }
}

/** Period of the search for orphans. */
const housekeepingMs = 10_000;
/** Dangling links are removed once a minute, as in 1.24. */
const roundsPerLinks = 6;
const retryMs = 1000;
const syncCheckMs = 20;

async function retryUntilSuccess(
  work: () => Promise<void>,
  wait: { clock: Clock; signal: AbortSignal },
): Promise<void> {
  while (!wait.signal.aborted) {
    try {
      await work();
      return;
    } catch {
      // The observer has logged the error.
      await pauseClock(wait.clock).sleep(retryMs, wait.signal);
    }
  }
}

async function until(isTrue: () => boolean, { clock, signal }: { clock: Clock; signal: AbortSignal }): Promise<void> {
  while (!signal.aborted && !isTrue()) await pauseClock(clock).sleep(syncCheckMs, signal);
}

interface RunOnceInput {
  readonly statics: Pick<StaticPods, 'list' | 'hasSynced'>;
  readonly statuses: Pick<StatusManager, 'get'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const pollMs = 200;
/** 1.24's limit: ten tries after 1 s, 2 s, 4 s, … */
const giveUpMs = 1023_000;

/** Implements `--runonce`: resolves once all containers of static pods run or `signal` aborts; rejects if one fails. */
async function untilContainersRun({ statics, statuses, clock, signal }: RunOnceInput): Promise<void> {
  const end = clock.monotonic() + giveUpMs;
  while (!signal.aborted) {
    const states = statics.list().map((pod) => ({ pod, state: stateOf(pod, statuses.get(pod.metadata.uid ?? '')) }));
    const failed = states.filter(({ state }) => state === 'failed').map(({ pod }) => fullName(pod));
    const waiting = states.filter(({ state }) => state === 'waiting').map(({ pod }) => fullName(pod));
    if (statics.hasSynced && waiting.length === 0) {
      if (failed.length > 0) throw new Error(`error running pods: [${failed.join(' ')}]`);
      return;
    }
    if (clock.monotonic() >= end) throw new Error(`error running pods: [${[...failed, ...waiting].join(' ')}]`);
    await clock.sleep(pollMs, signal);
  }
}

function stateOf({ spec }: Pod, status: PodStatus | undefined): 'failed' | 'running' | 'waiting' {
  if (status?.phase === 'Failed') return 'failed';
  if (status?.phase === 'Succeeded') return 'running';
  const running = (status?.containerStatuses ?? []).filter(({ state }) => state?.running !== undefined);
  return running.length === spec.containers.length ? 'running' : 'waiting';
}
