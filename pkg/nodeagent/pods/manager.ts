/** All pods of the node: a worker for each, and the end of what nobody wants any more. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Informer } from '#client/informer/informer.js';
import type { Logger } from '#daemon/log/logger.js';
import type { RuntimeService } from '#nodeagent/cri/cri.js';
import type { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';
import { defaultGraceSeconds } from '#nodeagent/pods/container-killer.js';
import type { PodRemains } from '#nodeagent/pods/pod-remains.js';
import type { PodWorker } from '#nodeagent/pods/worker.js';
import type { RuntimeLabels } from '#nodeagent/runtime/labels.js';
import type { RuntimeObserver } from '#nodeagent/runtime/observer.js';
import { isRunning, type PodRuntime } from '#nodeagent/runtime/pod-runtime.js';
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
  readonly newWorker: (pod: Pod) => PodWorker;
}

export class PodManager {
  readonly #options: PodManagerOptions;
  readonly #workers = new Map<string, PodWorker>();
  readonly #orphans = new Map<string, Promise<void>>();
  readonly #unsubscribe: (() => void)[] = [];
  #stopped = false;

  constructor(options: PodManagerOptions) {
    this.#options = options;
  }

  /** Begins to work. The informer has synced and the runtime has been listed. */
  async start(): Promise<void> {
    const { observer, objects, informer, remains } = this.#options;
    // The oldest come first where there is no room for all.
    for (const pod of [...informer.list()].sort(byCreation)) this.#updated(pod);
    this.#unsubscribe.push(
      observer.onChange((uid) => this.#runtimeChanged(uid)),
      observer.onRecovery(() => {
        for (const worker of this.#workers.values()) worker.retryNow();
      }),
      objects.onChange((uid) => this.#workers.get(uid)?.retryNow()),
      informer.addHandler({
        onAdd: (pod) => this.#updated(pod),
        onUpdate: (pod, old) => {
          if (pod.metadata.uid !== old.metadata.uid) this.#deleted(old);
          this.#updated(pod);
        },
        onDelete: (pod) => this.#deleted(pod),
      }),
    );
    for (const runtime of observer.list()) this.#runtimeChanged(runtime.uid);
    await remains.removeUnknown((uid) => this.#workers.has(uid));
  }

  /** Stops working; what runs goes on. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await Promise.all([...this.#workers.values()].map((worker) => worker.stop()));
    await Promise.allSettled(this.#orphans.values());
  }

  /** Something about a pod changed that its plan or status depends on. */
  poke(uid: string): void {
    this.#workers.get(uid)?.poke();
  }

  /** The pods that have a worker, as last seen from the API. */
  list(): Pod[] {
    return [...this.#workers.values()].map((worker) => worker.pod);
  }

  find(namespace: string, name: string): Pod | undefined {
    return this.#options.informer.get(`${namespace}/${name}`);
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
    void worker.gone.then(() => {
      if (this.#workers.get(uid) === worker) this.#workers.delete(uid);
    });
  }

  #runtimeChanged(uid: string): void {
    if (this.#stopped) return;
    const worker = this.#workers.get(uid);
    if (worker !== undefined) {
      worker.poke();
      return;
    }
    const { observer, log } = this.#options;
    const runtime = observer.get(uid);
    if (runtime === undefined || this.#orphans.has(uid)) return;
    const work = this.#removeOrphan(runtime)
      .catch((error: unknown) => {
        log.warn({ err: error, uid }, 'removing an unknown pod from the runtime failed');
      })
      .finally(() => this.#orphans.delete(uid));
    this.#orphans.set(uid, work);
  }

  /** A pod that the runtime holds and the API does not: it was deleted while nobody watched. */
  async #removeOrphan(runtime: PodRuntime): Promise<void> {
    const { uid, name, namespace, containers } = runtime;
    const { labels, cri, log, remains } = this.#options;
    log.info({ uid, namespace, name }, 'removing a pod that the API does not know');
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
