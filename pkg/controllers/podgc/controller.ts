/** Deletes surplus finished pods, pods of deleted nodes, and unscheduled pods in deletion. Rules of release 1.24 (podgc). */
import { isNodeReady, isOutOfService } from '#api/core/v1/node/conditions.js';
import { isPodTerminal } from '#api/core/v1/pod/conditions.js';
import { nodes as nodeType, pods as podType } from '#api/core/v1/resources.gen.js';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { indexByNode, podsOfNode, sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';

export interface PodGCOptions {
  /** The number of finished pods to keep; zero or less keeps all. */
  readonly terminatedThreshold: number;
  /** Whether pods in deletion on nodes out of service are deleted (gate NodeOutOfServiceVolumeDetach); absent: no. */
  readonly collectsOutOfService?: boolean;
}

/** The delay after a node's deletion, as in 1.24, because the node may be registering again. */
const quarantineMs = 40_000;

/** The queue's keys. */
const terminatedKey = 'terminated';
const nodePrefix = 'node ';
const outOfServicePrefix = 'out of service ';
const podPrefix = 'pod ';

export class PodGCController implements Controller {
  readonly name = 'podgc';
  readonly #context: ControllerContext;
  readonly #threshold: number;
  readonly #collectsOutOfService: boolean;
  readonly #pods: Informer<Pod>;
  readonly #nodes: Informer<Node>;
  readonly #loop: ReconcileLoop;
  /** When a missing node of a pod was first noticed, by node. */
  readonly #missingSince = new Map<string, number>();
  #terminated = 0;

  constructor(context: ControllerContext, options: PodGCOptions) {
    this.#context = context;
    this.#threshold = options.terminatedThreshold;
    this.#collectsOutOfService = options.collectsOutOfService ?? false;
    this.#pods = sharedInformer(context.informers, podType);
    this.#nodes = sharedInformer(context.informers, nodeType);
    indexByNode(this.#pods);
    this.#loop = new ReconcileLoop(context, {
      name: 'pod_gc',
      concurrency: 1,
      reconcile: (key) => this.#reconcile(key),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { queue } = this.#loop;
    await this.#loop.run(signal, [
      this.#pods.addHandler({
        onAdd: (pod) => this.#observePod(pod, undefined),
        onUpdate: (pod, old) => this.#observePod(pod, old),
        onDelete: (pod) => {
          if (isTerminated(pod)) this.#terminated -= 1;
        },
      }),
      this.#nodes.addHandler({
        onAdd: (node) => {
          this.#missingSince.delete(node.metadata.name ?? '');
          this.#observeNode(node);
        },
        onUpdate: (node) => this.#observeNode(node),
        onDelete: ({ metadata }) => queue.add(nodePrefix + (metadata.name ?? '')),
      }),
    ]);
  }

  #observePod(pod: Pod, old: Pod | undefined): void {
    const { queue } = this.#loop;
    if (isTerminated(pod)) this.#terminated += 1;
    if (old !== undefined && isTerminated(old)) this.#terminated -= 1;
    if (this.#threshold > 0 && this.#terminated > this.#threshold) queue.add(terminatedKey);
    if (isUnscheduledTerminating(pod)) queue.add(podPrefix + keyOf(pod));
    const node = pod.spec.nodeName ?? '';
    if (pod.metadata.deletionTimestamp !== undefined) this.#observeNode(this.#nodes.get(node));
    const isMissing = this.#nodes.get(node) === undefined && !this.#missingSince.has(node);
    if (node !== '' && isMissing) queue.add(nodePrefix + node);
  }

  #observeNode(node: Node | undefined): void {
    if (node !== undefined && this.#isGone(node)) this.#loop.queue.add(outOfServicePrefix + (node.metadata.name ?? ''));
  }

  /** The node is not ready, and an administrator says that it does not come back by itself. */
  #isGone(node: Node): boolean {
    return this.#collectsOutOfService && isOutOfService(this.#context.dialect, node) && !isNodeReady(node);
  }

  async #reconcile(key: string): Promise<Outcome> {
    if (key === terminatedKey) {
      for (const pod of surplusTerminated(this.#pods.list(), this.#threshold)) await this.#delete(pod);
      return done;
    }
    if (key.startsWith(podPrefix)) {
      const pod = this.#pods.get(key.slice(podPrefix.length));
      if (pod !== undefined && isUnscheduledTerminating(pod)) await this.#delete(pod);
      return done;
    }
    if (key.startsWith(outOfServicePrefix)) {
      const node = this.#nodes.get(key.slice(outOfServicePrefix.length));
      if (node === undefined || !this.#isGone(node)) return done;
      const going = podsOfNode(this.#pods, node.metadata.name ?? '').filter(
        ({ metadata }) => metadata.deletionTimestamp !== undefined,
      );
      for (const pod of going) await this.#delete(pod);
      return done;
    }
    return this.#collectNode(key.slice(nodePrefix.length));
  }

  async #collectNode(node: string): Promise<Outcome> {
    const { clock } = this.#context;
    const pods = podsOfNode(this.#pods, node);
    if (this.#nodes.get(node) !== undefined || pods.length === 0) {
      this.#missingSince.delete(node);
      return done;
    }
    const sinceMs = this.#missingSince.get(node) ?? clock.monotonic();
    this.#missingSince.set(node, sinceMs);
    const waitMs = sinceMs + quarantineMs - clock.monotonic();
    if (waitMs > 0) return requeueAfter(waitMs);
    // The cache may not show a new node yet.
    if (await this.#exists(node)) {
      this.#missingSince.delete(node);
      return requeueAfter(quarantineMs);
    }
    for (const pod of pods) await this.#delete(pod);
    this.#missingSince.delete(node);
    return done;
  }

  async #exists(node: string): Promise<boolean> {
    try {
      await this.#context.client.resource(nodeType).get(node);
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  /** Without grace period, because no node agent would end it. */
  async #delete(pod: Pod): Promise<void> {
    const { client, log } = this.#context;
    const { name = '', namespace = '', uid = '' } = pod.metadata;
    try {
      await client.resource(podType).delete(name, { namespace, gracePeriodSeconds: 0, preconditions: { uid } });
      log.info({ namespace, name }, 'deleted a pod');
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

/** Whether the pod is finished. */
function isTerminated(pod: Pod): boolean {
  const phase = pod.status?.phase;
  return (
    isPodTerminal(pod) || (phase !== undefined && phase !== 'Pending' && phase !== 'Running' && phase !== 'Unknown')
  );
}

/** The oldest finished pods beyond `threshold`; none when it is zero or less. */
function surplusTerminated(pods: readonly Pod[], threshold: number): Pod[] {
  if (threshold <= 0) return [];
  const finished = pods.filter(isTerminated);
  if (finished.length <= threshold) return [];
  const age = (pod: Pod) => `${pod.metadata.creationTimestamp ?? ''} ${pod.metadata.name ?? ''}`;
  return finished.sort((a, b) => (age(a) < age(b) ? -1 : 1)).slice(0, finished.length - threshold);
}

/** Whether the pod is being deleted and was never bound to a node, so that no node agent finishes the deletion. */
function isUnscheduledTerminating(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined && (pod.spec.nodeName ?? '') === '';
}
