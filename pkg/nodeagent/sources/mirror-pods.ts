/** Mirror pods: the API's copies of static pods. Rules of release 1.24 (kubelet pod/mirror_client.go). */
import { pods } from '#api/core/v1/resources.gen.js';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { Client, ResourceClient } from '#client/client.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter, retry } from '#client/workqueue/outcome.js';
import { WorkQueue } from '#client/workqueue/queue.js';
import { runWorkers } from '#client/workqueue/workers.js';
import type { Logger } from '#daemon/log/logger.js';
import { fullName, type StaticPods } from '#nodeagent/sources/static-pods.js';

export interface MirrorPodsOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly statics: StaticPods;
  /** The node's pods in the API. */
  readonly informer: Pick<Informer<Pod>, 'get' | 'list' | 'hasSynced'>;
  /** The registered node; undefined before registration. */
  readonly node: () => Node | undefined;
  /** True while containers of a static pod of that name run. */
  readonly isRunning: (key: string) => boolean;
}

export type MirrorStep = 'none' | 'create' | 'delete' | 'replace';

/** The value of the mirror annotation; undefined for other pods. */
function mirrorHash({ metadata }: Pod, { annotations }: Dialect): string | undefined {
  return metadata.annotations?.[annotations.configMirror];
}

/** The next step. `mirror`: the mirror pod in the API, if any. `isRunning`: containers of a pod of that name run. */
export function mirrorStep(
  pod: Pod | undefined,
  mirror: Pod | undefined,
  { dialect, isRunning }: { dialect: Dialect; isRunning: boolean },
): MirrorStep {
  // Keep the mirror pod until its containers have ended.
  if (pod === undefined) return mirror === undefined || isRunning ? 'none' : 'delete';
  if (mirror === undefined) return 'create';
  const isCurrent = mirrorHash(mirror, dialect) === pod.metadata.annotations?.[dialect.annotations.configHash];
  return isCurrent && mirror.metadata.deletionTimestamp === undefined ? 'none' : 'replace';
}

/** Retry delay until the node is registered: its UID is the mirror pod's owner. */
const unregisteredMs = 1000;

export class MirrorPods {
  readonly #options: MirrorPodsOptions;
  readonly #pods: ResourceClient<Pod>;
  readonly #queue: WorkQueue;

  constructor(options: MirrorPodsOptions) {
    this.#options = options;
    this.#pods = options.client.resource(pods);
    this.#queue = new WorkQueue({ clock: options.clock });
  }

  /** Works until `signal` aborts; the informer has synced. */
  async run(signal: AbortSignal): Promise<void> {
    const { statics, informer, log } = this.#options;
    for (const pod of [...statics.list(), ...informer.list().filter((each) => this.isMirror(each))]) this.poke(pod);
    const reconcile = (key: string) => this.#reconcile(key);
    await runWorkers({ queue: this.#queue, concurrency: 1, reconcile, log }, signal);
  }

  isMirror(pod: Pod): boolean {
    return mirrorHash(pod, this.#options.client.dialect) !== undefined;
  }

  /** A static pod or its mirror pod has changed. */
  poke(pod: Pod): void {
    this.#queue.add(fullName(pod));
  }

  /** The current mirror pod of the static pod with that UID. */
  mirrorOf(uid: string): Pod | undefined {
    const { statics, informer, client } = this.#options;
    const pod = statics.get(uid);
    const mirror = pod === undefined ? undefined : informer.get(fullName(pod));
    if (pod === undefined || mirror === undefined) return undefined;
    return mirrorHash(mirror, client.dialect) === pod.metadata.annotations?.[client.dialect.annotations.configHash]
      ? mirror
      : undefined;
  }

  async #reconcile(key: string): Promise<Outcome> {
    const { statics, informer, node, isRunning, client } = this.#options;
    const pod = statics.named(key);
    const apiPod = informer.get(key);
    const mirror = apiPod !== undefined && this.isMirror(apiPod) ? apiPod : undefined;
    // Until all sources have synced, an absent pod may still come.
    if (pod === undefined && !statics.hasSynced) return requeueAfter(unregisteredMs);
    const step = mirrorStep(pod, mirror, { dialect: client.dialect, isRunning: isRunning(key) });
    const owner = node();
    try {
      if ((step === 'delete' || step === 'replace') && mirror !== undefined) await this.#delete(mirror);
      if ((step === 'create' || step === 'replace') && pod !== undefined) {
        if (owner === undefined) return requeueAfter(unregisteredMs);
        // Create none for a node that is being deleted, since its pods are deleted with it.
        if (owner.metadata.deletionTimestamp === undefined) await this.#create(pod, owner);
      }
      return done;
    } catch (error) {
      return retry(error);
    }
  }

  async #create(pod: Pod, { metadata: { name = '', uid = '' } }: Node): Promise<void> {
    const { annotations } = this.#options.client.dialect;
    const hash = pod.metadata.annotations?.[annotations.configHash] ?? '';
    const { uid: _, ...metadata } = pod.metadata;
    const mirror: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        ...metadata,
        annotations: { ...metadata.annotations, [annotations.configMirror]: hash },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid, controller: true }],
      },
      spec: pod.spec,
    };
    try {
      await this.#pods.create(mirror, { namespace: metadata.namespace ?? '' });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const existing = await this.#pods.get(metadata.name ?? '', { namespace: metadata.namespace ?? '' });
      // It already exists; the informer's event will follow.
      if (mirrorHash(existing, this.#options.client.dialect) !== hash) throw error;
    }
  }

  /** Deletes this mirror pod, but not a newer one of the same name. */
  async #delete({ metadata: { name = '', namespace = '', uid = '' } }: Pod): Promise<void> {
    try {
      await this.#pods.delete(name, { namespace, gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}
