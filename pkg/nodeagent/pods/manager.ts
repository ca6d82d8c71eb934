/** All pods of the node: a worker for each, and the end of what nobody wants any more. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Informer } from '#client/informer/informer.js';
import { defaultGraceSeconds, removeFromRuntime } from '#nodeagent/pods/container-killer.js';
import type { PodContext } from '#nodeagent/pods/context.js';
import { logDirectoryName } from '#nodeagent/pods/runtime-config.js';
import { PodWorker } from '#nodeagent/pods/worker.js';
import { isRunning, type PodRuntime } from '#nodeagent/runtime/pod-runtime.js';

/** Name of the informer's index of pods by UID. */
export const podUIDIndex = 'uid';

export class PodManager {
  readonly #context: PodContext;
  readonly #informer: Informer<Pod>;
  readonly #workers = new Map<string, PodWorker>();
  readonly #orphans = new Map<string, Promise<void>>();
  readonly #unsubscribe: (() => void)[] = [];
  #stopped = false;

  /** @param informer Of this node's pods, with the index `podUIDIndex`. */
  constructor(context: PodContext, informer: Informer<Pod>) {
    this.#context = context;
    this.#informer = informer;
  }

  /** Begins to work. The informer has synced and the runtime has been listed. */
  async start(): Promise<void> {
    const { observer, objects } = this.#context;
    this.#unsubscribe.push(
      observer.onChange((uid) => this.#runtimeChanged(uid)),
      observer.onRecovery(() => {
        for (const worker of this.#workers.values()) worker.retryNow();
      }),
      objects.onChange((uid) => this.#workers.get(uid)?.retryNow()),
      this.#informer.addHandler({
        onAdd: (pod) => this.#updated(pod),
        onUpdate: (pod, old) => {
          if (pod.metadata.uid !== old.metadata.uid) this.#deleted(old);
          this.#updated(pod);
        },
        onDelete: (pod) => this.#deleted(pod),
      }),
    );
    for (const runtime of observer.list()) this.#runtimeChanged(runtime.uid);
    await this.#removeLeftovers();
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
    return this.#informer.get(`${namespace}/${name}`);
  }

  #updated(pod: Pod): void {
    if (this.#stopped) return;
    const uid = pod.metadata.uid ?? '';
    const worker = this.#workers.get(uid);
    if (worker === undefined) {
      const fresh = new PodWorker(this.#context, pod);
      this.#workers.set(uid, fresh);
      fresh.poke();
      return;
    }
    this.#context.statuses.reconcile(uid);
    worker.update(pod);
  }

  #deleted(pod: Pod): void {
    const uid = pod.metadata.uid ?? '';
    const worker = this.#workers.get(uid);
    if (worker === undefined) return;
    if (worker.state === 'gone') this.#workers.delete(uid);
    else worker.remove();
    this.#forgetWhenGone(uid, worker);
  }

  /** Its last step may be under way: the worker goes when that is over. */
  #forgetWhenGone(uid: string, worker: PodWorker): void {
    const check = () => {
      if (this.#stopped || this.#workers.get(uid) !== worker) return;
      if (worker.state === 'gone') this.#workers.delete(uid);
      else this.#context.clock.setTimer(check, 1000);
    };
    check();
  }

  #runtimeChanged(uid: string): void {
    if (this.#stopped) return;
    const worker = this.#workers.get(uid);
    if (worker !== undefined) {
      worker.poke();
      return;
    }
    const runtime = this.#context.observer.get(uid);
    if (runtime === undefined || this.#orphans.has(uid)) return;
    const work = this.#removeOrphan(runtime)
      .catch((error: unknown) => {
        this.#context.log.warn({ err: error, uid }, 'removing an unknown pod from the runtime failed');
      })
      .finally(() => this.#orphans.delete(uid));
    this.#orphans.set(uid, work);
  }

  /** A pod that the runtime holds and the API does not: it was deleted while nobody watched. */
  async #removeOrphan(runtime: PodRuntime): Promise<void> {
    const { uid, name, namespace, containers } = runtime;
    const { labels, cri, log, observer, volumes, cgroups, logFiles, podLogsDir } = this.#context;
    log.info({ uid, namespace, name }, 'removing a pod that the API does not know');
    const stops = containers
      .filter((container) => isRunning(container))
      .map((container) => {
        const told = Number(container.annotations[labels.podTerminationGracePeriod] ?? defaultGraceSeconds);
        return cri.stopContainer(container.id, told);
      });
    await Promise.all(stops);
    await removeFromRuntime(this.#context, runtime);
    await observer.refresh(uid);
    await volumes.tearDown(uid);
    await cgroups?.remove(uid);
    await logFiles.remove(`${podLogsDir}/${logDirectoryName({ namespace, name, uid })}`);
  }

  /** Folders and logs of pods that neither the API nor the runtime know. */
  async #removeLeftovers(): Promise<void> {
    const { observer, volumes, cgroups, logFiles, podLogsDir } = this.#context;
    const known = (uid: string) => this.#workers.has(uid) || observer.get(uid) !== undefined;
    for (const uid of await volumes.list()) {
      if (known(uid)) continue;
      await volumes.tearDown(uid);
      await cgroups?.remove(uid);
    }
    for (const directory of await logFiles.list(podLogsDir)) {
      const uid = directory.split('_').at(-1) ?? '';
      if (directory.split('_').length === 3 && !known(uid)) await logFiles.remove(`${podLogsDir}/${directory}`);
    }
  }
}

/** The informer options of a node's pods. */
export function podsOfNode(nodeName: string) {
  return {
    fieldSelector: `spec.nodeName=${nodeName}`,
    indexers: { [podUIDIndex]: (pod: Pod) => [pod.metadata.uid ?? ''] },
  };
}
