/** All pods of the node: one worker per pod, and removal of orphaned pods. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Informer } from '#client/informer/informer.js';
import type { Logger } from '#daemon/log/logger.js';
import type { RuntimeService } from '#nodeagent/cri/cri.js';
import type { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';
import { defaultGraceSeconds } from '#nodeagent/pods/container-killer.js';
import type { PodFailure } from '#nodeagent/pods/lifecycle.js';
import type { PodCleanup } from '#nodeagent/pods/pod-cleanup.js';
import type { PodWorker } from '#nodeagent/pods/worker.js';
import type { RuntimeLabels } from '#nodeagent/runtime/labels.js';
import type { RuntimeObserver } from '#nodeagent/runtime/observer.js';
import { isRunning, type PodRuntime } from '#nodeagent/runtime/pod-runtime.js';
import type { MirrorPods } from '#nodeagent/sources/mirror-pods.js';
import { fullName, type StaticPods } from '#nodeagent/sources/static-pods.js';
import type { StatusManager } from '#nodeagent/status/manager.js';

/** Name of the informer's index of pods by UID. */
const podUIDIndex = 'uid';

export interface PodManagerOptions {
  /** This node's pods, with the index `podUIDIndex`. */
  readonly informer: Informer<Pod>;
  readonly log: Logger;
  readonly cri: Pick<RuntimeService, 'stopContainer'>;
  readonly labels: RuntimeLabels;
  readonly observer: Pick<RuntimeObserver, 'get' | 'list' | 'onChange' | 'onRecovery'>;
  readonly objects: Pick<ReferencedObjects, 'onChange'>;
  readonly statuses: Pick<StatusManager, 'reconcile' | 'forget'>;
  readonly cleanup: PodCleanup;
  readonly statics: StaticPods;
  readonly mirrors: Pick<MirrorPods, 'isMirror' | 'poke'>;
  readonly newWorker: (pod: Pod) => PodWorker;
}

/** `over`: nothing of the pod runs. */
export type EvictionProgress = 'begun' | 'ending' | 'over';

export class PodManager {
  readonly #options: PodManagerOptions;
  readonly #workers = new Map<string, PodWorker>();
  readonly #orphans = new Map<string, Promise<void>>();
  /** Static pods that wait for the end of an older pod of the same name, by `namespace/name`. */
  readonly #waiting = new Map<string, Pod>();
  /** UIDs of static pods that have a worker. */
  readonly #statics = new Set<string>();
  /** UIDs of workers that are being removed. */
  readonly #ending = new Set<string>();
  readonly #unsubscribe: (() => void)[] = [];
  /** All sources have synced: pods without a worker are orphans. */
  #isComplete = false;
  #stopped = false;

  constructor(options: PodManagerOptions) {
    this.#options = options;
  }

  /** Starts the static pods, which need no API. The runtime has been listed. */
  start(): void {
    const { observer, objects, statics } = this.#options;
    this.#unsubscribe.push(
      observer.onChange((uid) => this.#runtimeChanged(uid)),
      observer.onRecovery(() => {
        for (const worker of this.#workers.values()) worker.retryNow();
      }),
      objects.onChange((uid) => this.#workers.get(uid)?.retryNow()),
      statics.addHandler({
        onUpdate: (pod) => this.#staticUpdated(pod),
        onDelete: (pod) => this.#staticDeleted(pod),
      }),
    );
  }

  /** Starts the API's pods. The informer has synced. */
  startAPI(): void {
    const { informer, mirrors } = this.#options;
    // Older pods go first in case not all fit.
    for (const pod of [...informer.list()].sort(byCreation)) if (!mirrors.isMirror(pod)) this.#updated(pod);
    this.#unsubscribe.push(
      informer.addHandler({
        onAdd: (pod) => this.#apiChanged(pod),
        onUpdate: (pod, old) => {
          if (pod.metadata.uid !== old.metadata.uid) this.#deleted(old);
          this.#apiChanged(pod);
        },
        onDelete: (pod) => (mirrors.isMirror(pod) ? mirrors.poke(pod) : this.#deleted(pod)),
      }),
    );
  }

  /** Ends orphaned pods, and retries earlier failures. All sources have synced. Never rejects. */
  async removeUnknown(): Promise<void> {
    const { observer, cleanup } = this.#options;
    this.#isComplete = true;
    for (const { uid } of observer.list()) if (!this.#workers.has(uid)) this.#runtimeChanged(uid);
    await cleanup.removeUnknown((uid) => this.#workers.has(uid) || this.#orphans.has(uid) || this.#isWaiting(uid));
  }

  /** Removes dangling log links. Never rejects. */
  removeDeadLinks(): Promise<void> {
    return this.#options.cleanup.removeDeadLinks();
  }

  /** Stops the workers; containers continue to run. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#waiting.clear();
    await Promise.all([...this.#workers.values()].map((worker) => worker.stop()));
    await Promise.allSettled(this.#orphans.values());
  }

  /** All sources have reported their pods. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Notifies the worker that an input of the pod's plan or status changed. */
  poke(uid: string): void {
    this.#workers.get(uid)?.poke();
  }

  /** Fails a pod whose resources the node needs. False if it is already ending. */
  condemn(uid: string, failure: PodFailure): boolean {
    return this.#workers.get(uid)?.condemn(failure) ?? false;
  }

  /** Fails a pod whose resources the node needs; a second time does nothing, except that it may end sooner. */
  evict(uid: string, failure: PodFailure): EvictionProgress {
    const worker = this.#workers.get(uid);
    if (worker === undefined || worker.stage === 'ended') return 'over';
    const isRepeated = worker.isEvicted;
    worker.condemn(failure);
    return isRepeated ? 'ending' : 'begun';
  }

  /** How far the pod is; undefined if the node does not have it. */
  progress(uid: string): Pick<PodWorker, 'stage' | 'isEvicted'> | undefined {
    return this.#workers.get(uid);
  }

  /**
   * Removes what the node has of these pods (`namespace/name`), as if they had never been here. A pod that the API still
   * has starts again with its next version. For clusters whose state is set back.
   */
  async forget(keys: ReadonlySet<string>): Promise<void> {
    const { statuses } = this.#options;
    const forgotten = [...this.#workers].filter(([, worker]) => keys.has(fullName(worker.pod)));
    await Promise.all(
      forgotten.map(async ([uid, worker]) => {
        await worker.forget();
        if (this.#workers.get(uid) === worker) this.#workers.delete(uid);
        statuses.forget(uid);
      }),
    );
  }

  /** Fails a pod, or shortens its grace period if it is already ending; resolves once nothing of it runs. */
  async end(uid: string, failure: PodFailure): Promise<void> {
    const worker = this.#workers.get(uid);
    if (worker === undefined) return;
    worker.condemn(failure);
    await worker.ended;
  }

  /** `namespace/name` of the pods with a running task, and UIDs of orphans that are being removed. */
  *working(): Generator<string> {
    for (const worker of this.#workers.values()) if (worker.isWorking) yield fullName(worker.pod);
    yield* this.#orphans.keys();
  }

  /** The pods that have a worker, in their sources' last version. */
  list(): Pod[] {
    return [...this.#workers.values()].map((worker) => worker.pod);
  }

  /** `uid`: that of the pod, or of its mirror pod; absent: any pod of that name. */
  find(namespace: string, name: string, uid?: string): Pod | undefined {
    const key = `${namespace}/${name}`;
    const { statics, informer, mirrors } = this.#options;
    const cached = informer.get(key);
    const pod = statics.named(key) ?? cached;
    if (pod === undefined || mirrors.isMirror(pod)) return undefined;
    if (uid === undefined || uid === pod.metadata.uid) return pod;
    return cached !== undefined && mirrors.isMirror(cached) && cached.metadata.uid === uid ? pod : undefined;
  }

  /** True while a static pod of that `namespace/name` is running, ending or waiting. */
  runsNamed(key: string): boolean {
    return this.#waiting.has(key) || this.#named(key) !== undefined;
  }

  #named(key: string): PodWorker | undefined {
    return [...this.#workers.values()].find(
      ({ pod }) => fullName(pod) === key && this.#statics.has(pod.metadata.uid ?? ''),
    );
  }

  #isWaiting(uid: string): boolean {
    return [...this.#waiting.values()].some(({ metadata }) => metadata.uid === uid);
  }

  #apiChanged(pod: Pod): void {
    const { mirrors, statics, statuses } = this.#options;
    if (!mirrors.isMirror(pod)) {
      this.#updated(pod);
      return;
    }
    mirrors.poke(pod);
    const uid = statics.named(fullName(pod))?.metadata.uid;
    if (uid !== undefined) statuses.reconcile(uid);
  }

  /** Starts the pod once its predecessor of the same name has been removed. */
  #staticUpdated(pod: Pod): void {
    if (this.#stopped) return;
    const { mirrors, log } = this.#options;
    const key = fullName(pod);
    const uid = pod.metadata.uid ?? '';
    mirrors.poke(pod);
    if (this.#workers.has(uid) && !this.#ending.has(uid)) {
      this.#updated(pod);
      return;
    }
    const before = this.#named(key)?.gone ?? this.#endNamesakes(pod);
    if (before === undefined) {
      this.#statics.add(uid);
      this.#updated(pod);
      return;
    }
    const isWaiting = this.#waiting.has(key);
    this.#waiting.set(key, pod);
    if (isWaiting) return;
    log.info({ key }, 'static pod waits for the end of its predecessor');
    void before.then(() => {
      const next = this.#waiting.get(key);
      this.#waiting.delete(key);
      if (next !== undefined) this.#staticUpdated(next);
    });
  }

  #staticDeleted(pod: Pod): void {
    const key = fullName(pod);
    if (this.#waiting.get(key)?.metadata.uid === pod.metadata.uid) this.#waiting.delete(key);
    this.#deleted(pod);
    this.#options.mirrors.poke(pod);
  }

  /** Ends the containers that an earlier agent started for a static pod of that name; undefined if there are none. */
  #endNamesakes(pod: Pod): Promise<unknown> | undefined {
    const { observer } = this.#options;
    const { uid, name, namespace } = pod.metadata;
    const others = observer
      .list()
      .filter((each) => each.name === name && each.namespace === namespace && each.uid !== uid)
      .filter((each) => !this.#workers.has(each.uid));
    if (others.length === 0) return undefined;
    return Promise.all(others.map((each) => this.#end(each)));
  }

  #updated(pod: Pod): void {
    if (this.#stopped) return;
    const uid = pod.metadata.uid ?? '';
    const worker = this.#workers.get(uid);
    if (worker?.pod === pod) return;
    if (worker === undefined) {
      const fresh = this.#options.newWorker(pod);
      this.#workers.set(uid, fresh);
      fresh.start();
      return;
    }
    this.#options.statuses.reconcile(uid);
    worker.update(pod);
  }

  /** The worker is removed once its running task has ended. */
  #deleted(pod: Pod): void {
    const uid = pod.metadata.uid ?? '';
    const worker = this.#workers.get(uid);
    if (worker === undefined) return;
    worker.remove();
    if (this.#ending.has(uid)) return;
    this.#ending.add(uid);
    void worker.gone.then(() => {
      this.#ending.delete(uid);
      this.#statics.delete(uid);
      if (this.#workers.get(uid) === worker) this.#workers.delete(uid);
      this.#options.mirrors.poke(pod);
    });
  }

  #runtimeChanged(uid: string): void {
    if (this.#stopped) return;
    const worker = this.#workers.get(uid);
    if (worker !== undefined) {
      worker.poke();
      return;
    }
    const runtime = this.#options.observer.get(uid);
    if (runtime !== undefined && this.#isComplete && !this.#isWaiting(uid)) void this.#end(runtime);
  }

  #end(runtime: PodRuntime): Promise<void> {
    const { log } = this.#options;
    const { uid } = runtime;
    const running = this.#orphans.get(uid);
    if (running !== undefined) return running;
    const work = this.#removeOrphan(runtime)
      .catch((error: unknown) => {
        log.warn({ err: error, uid }, 'removing an orphaned pod failed');
      })
      .finally(() => this.#orphans.delete(uid));
    this.#orphans.set(uid, work);
    return work;
  }

  /** Removes a pod that the runtime has and the API does not: it was deleted while the agent was down. */
  async #removeOrphan(runtime: PodRuntime): Promise<void> {
    const { uid, name, namespace, containers } = runtime;
    const { labels, cri, log, cleanup } = this.#options;
    log.info({ uid, namespace, name }, 'removing an orphaned pod');
    const stops = containers
      .filter((container) => isRunning(container))
      .map((container) => {
        const graceSeconds = Number(container.annotations[labels.podTerminationGracePeriod] ?? defaultGraceSeconds);
        return cri.stopContainer(container.id, graceSeconds);
      });
    await Promise.all(stops);
    await cleanup.remove(runtime);
  }
}

function byCreation(a: Pod, b: Pod): number {
  return (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? '');
}

/** The informer options of a node's pods. */
export function podsOfNode(nodeName: string) {
  return {
    fieldSelector: `spec.nodeName=${nodeName}`,
    indexers: { [podUIDIndex]: (pod: Pod) => [pod.metadata.uid ?? ''] },
  };
}
