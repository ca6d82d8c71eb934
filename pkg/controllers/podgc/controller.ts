/** Deletes pods that nobody else will: ended ones beyond a number, those of gone nodes, and unscheduled terminating ones. */
import { nodes as nodeType, pods as podType } from '#api/core/v1/resources.gen.js';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { indexByNode, podsOfNode, sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { isTerminated, isUnscheduledTerminating, surplusTerminated } from '#controllers/podgc/plan.js';

export interface PodGCOptions {
  /** Ended pods that are kept; zero or less keeps all. */
  readonly terminatedThreshold: number;
}

/** How long a node must be gone before its pods are: it may only be registering anew. As in 1.24. */
const quarantineMs = 40_000;

/** What a key of the queue asks for. */
const terminatedKey = 'terminated';
const nodePrefix = 'node ';
const podPrefix = 'pod ';

export class PodGCController implements Controller {
  readonly name = 'podgc';
  readonly #context: ControllerContext;
  readonly #threshold: number;
  readonly #pods: Informer<Pod>;
  readonly #nodes: Informer<Node>;
  readonly #loop: ReconcileLoop;
  /** Nodes that pods are bound to and that do not exist → since when that is known. */
  readonly #goneSince = new Map<string, number>();
  #terminated = 0;

  constructor(context: ControllerContext, options: PodGCOptions) {
    this.#context = context;
    this.#threshold = options.terminatedThreshold;
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
        onAdd: (pod) => this.#podSeen(pod, undefined),
        onUpdate: (pod, old) => this.#podSeen(pod, old),
        onDelete: (pod) => {
          if (isTerminated(pod)) this.#terminated -= 1;
        },
      }),
      this.#nodes.addHandler({
        onAdd: ({ metadata }) => this.#goneSince.delete(metadata.name ?? ''),
        onDelete: ({ metadata }) => queue.add(nodePrefix + (metadata.name ?? '')),
      }),
    ]);
  }

  #podSeen(pod: Pod, old: Pod | undefined): void {
    const { queue } = this.#loop;
    if (isTerminated(pod)) this.#terminated += 1;
    if (old !== undefined && isTerminated(old)) this.#terminated -= 1;
    if (this.#threshold > 0 && this.#terminated > this.#threshold) queue.add(terminatedKey);
    if (isUnscheduledTerminating(pod)) queue.add(podPrefix + keyOf(pod));
    const node = pod.spec.nodeName ?? '';
    const known = this.#nodes.get(node) !== undefined || this.#goneSince.has(node);
    if (node !== '' && !known) queue.add(nodePrefix + node);
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
    return this.#collectNode(key.slice(nodePrefix.length));
  }

  async #collectNode(node: string): Promise<Outcome> {
    const { clock } = this.#context;
    const pods = podsOfNode(this.#pods, node);
    if (this.#nodes.get(node) !== undefined || pods.length === 0) {
      this.#goneSince.delete(node);
      return done;
    }
    const sinceMs = this.#goneSince.get(node) ?? clock.monotonic();
    this.#goneSince.set(node, sinceMs);
    const waitMs = sinceMs + quarantineMs - clock.monotonic();
    if (waitMs > 0) return requeueAfter(waitMs);
    // The cache may not show a node that is just registering.
    if (await this.#exists(node)) {
      this.#goneSince.delete(node);
      return requeueAfter(quarantineMs);
    }
    for (const pod of pods) await this.#delete(pod);
    this.#goneSince.delete(node);
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

  /** At once, without the grace that no node agent would see to. */
  async #delete(pod: Pod): Promise<void> {
    const { client, log } = this.#context;
    const { name = '', namespace = '', uid = '' } = pod.metadata;
    try {
      await client.resource(podType).delete(name, { namespace, gracePeriodSeconds: 0, preconditions: { uid } });
      log.info({ namespace, name }, 'Deleted a pod that nobody else would have');
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
