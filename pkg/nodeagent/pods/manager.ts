/** All pods of the node: a worker for each, and the end of what nobody wants any more. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Informer } from '#client/informer/informer.js';
import type { Logger } from '#daemon/log/logger.js';
import type { RuntimeService } from '#nodeagent/cri/cri.js';
import type { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';
import { defaultGraceSeconds } from '#nodeagent/pods/container-killer.js';
import type { PodFailure } from '#nodeagent/pods/lifecycle.js';
import type { PodRemains } from '#nodeagent/pods/pod-cleanup.js';
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
  /** Of this node's pods, with the index `podUIDIndex`. */
  readonly informer: Informer<Pod>;
  readonly log: Logger;
  readonly cri: Pick<RuntimeService, 'stopContainer'>;
  readonly labels: RuntimeLabels;
  readonly observer: Pick<RuntimeObserver, 'get' | 'list' | 'onChange' | 'onRecovery'>;
  readonly objects: Pick<ReferencedObjects, 'onChange'>;
  readonly statuses: Pick<StatusManager, 'reconcile'>;
  readonly remains: PodRemains;
  readonly statics: StaticPods;
  readonly mirrors: Pick<MirrorPods, 'isMirror' | 'poke'>;
  readonly newWorker: (pod: Pod) => PodWorker;
}

export class PodManager {
  readonly #options: PodManagerOptions;
  readonly #workers = new Map<string, PodWorker>();
  readonly #orphans = new Map<string, Promise<void>>();
  /** Static pods whose predecessors of the same name are still being ended, by `namespace/name`. */
  readonly #waiting = new Map<string, Pod>();
  /** UIDs of the static pods among them. */
  readonly #statics = new Set<string>();
  /** UIDs of workers that are to go. */
  readonly #ending = new Set<string>();
  readonly #unsubscribe: (() => void)[] = [];
  /** All that should run is known: the rest is nobody's. */
  #isComplete = false;
  #stopped = false;

  constructor(options: PodManagerOptions) {
    this.#options = options;
  }

  /** Begins with the static pods, which need no API. The runtime has been listed. */
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

  /** Goes on with the pods of the API. The informer has synced. */
  startAPI(): void {
    const { informer, mirrors } = this.#options;
    // The oldest come first where there is no room for all.
    for (const pod of [...informer.list()].sort(byCreation)) if (!mirrors.isMirror(pod)) this.#updated(pod);
    this.#unsubscribe.push(
      informer.addHandler({
        onAdd: (pod) => this.#seen(pod),
        onUpdate: (pod, old) => {
          if (pod.metadata.uid !== old.metadata.uid) this.#deleted(old);
          this.#seen(pod);
        },
        onDelete: (pod) => (mirrors.isMirror(pod) ? mirrors.poke(pod) : this.#deleted(pod)),
      }),
    );
  }

  /** Ends what nobody wants, once more where that failed before. All sources have said what they have. Never rejects. */
  async removeUnknown(): Promise<void> {
    const { observer, remains } = this.#options;
    this.#isComplete = true;
    for (const { uid } of observer.list()) if (!this.#workers.has(uid)) this.#runtimeChanged(uid);
    await remains.removeUnknown((uid) => this.#workers.has(uid) || this.#orphans.has(uid) || this.#isWaiting(uid));
  }

  /** Removes the links to logs that are gone. Never rejects. */
  removeDeadLinks(): Promise<void> {
    return this.#options.remains.removeDeadLinks();
  }

  /** Stops working; what runs goes on. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#waiting.clear();
    await Promise.all([...this.#workers.values()].map((worker) => worker.stop()));
    await Promise.allSettled(this.#orphans.values());
  }

  /** Something about a pod changed that its plan or status depends on. */
  poke(uid: string): void {
    this.#workers.get(uid)?.poke();
  }

  /** Ends a pod of which the node needs what it has; it fails for that reason. False for one that ends already. */
  condemn(uid: string, failure: PodFailure): boolean {
    return this.#workers.get(uid)?.condemn(failure) ?? false;
  }

  /** The pods that have a worker, as last seen from where they come from. */
  list(): Pod[] {
    return [...this.#workers.values()].map((worker) => worker.pod);
  }

  /** @param uid Of that pod, or of the image that stands for it in the API; absent: whichever has the name. */
  find(namespace: string, name: string, uid?: string): Pod | undefined {
    const key = `${namespace}/${name}`;
    const { statics, informer, mirrors } = this.#options;
    const known = informer.get(key);
    const pod = statics.named(key) ?? known;
    if (pod === undefined || mirrors.isMirror(pod)) return undefined;
    if (uid === undefined || uid === pod.metadata.uid) return pod;
    return known !== undefined && mirrors.isMirror(known) && known.metadata.uid === uid ? pod : undefined;
  }

  /** Whether something of a static pod of that name is still here. By `namespace/name`. */
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

  #seen(pod: Pod): void {
    const { mirrors, statics, statuses } = this.#options;
    if (!mirrors.isMirror(pod)) {
      this.#updated(pod);
      return;
    }
    mirrors.poke(pod);
    const uid = statics.named(fullName(pod))?.metadata.uid;
    if (uid !== undefined) statuses.reconcile(uid);
  }

  /** It starts once nothing of its predecessor is left. */
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
    const isKnown = this.#waiting.has(key);
    this.#waiting.set(key, pod);
    if (isKnown) return;
    log.info({ key }, 'a static pod waits for the end of the one that it replaces');
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

  /** What an earlier agent has left of a static pod of that name; undefined: nothing. */
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

  /** Its last task may be under way: the worker goes when that is over. */
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
    const known = this.#orphans.get(uid);
    if (known !== undefined) return known;
    const work = this.#removeOrphan(runtime)
      .catch((error: unknown) => {
        log.warn({ err: error, uid }, 'removing an unknown pod from the runtime failed');
      })
      .finally(() => this.#orphans.delete(uid));
    this.#orphans.set(uid, work);
    return work;
  }

  /** A pod that the runtime holds and the API does not: it was deleted while nobody watched. */
  async #removeOrphan(runtime: PodRuntime): Promise<void> {
    const { uid, name, namespace, containers } = runtime;
    const { labels, cri, log, remains } = this.#options;
    log.info({ uid, namespace, name }, 'removing a pod that nobody wants here');
    const stops = containers
      .filter((container) => isRunning(container))
      .map((container) => {
        const told = Number(container.annotations[labels.podTerminationGracePeriod] ?? defaultGraceSeconds);
        return cri.stopContainer(container.id, told);
      });
    await Promise.all(stops);
    await remains.remove(runtime);
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
