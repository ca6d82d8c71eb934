/**
 * Deletes the pods of nodes that were not ready for `--pod-eviction-timeout`, as in release 1.24 with
 * `--enable-taint-manager=false`.
 */
import { pods as podType } from '#api/core/v1/resources.gen.js';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { Informer } from '#client/informer/informer.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { podsOfNode } from '#controllers/framework/informers.js';
import { controllerOf } from '#controllers/framework/owners.js';
import type { Health, Readiness } from '#controllers/nodelifecycle/health.js';

/** The reason in the status of pods on lost nodes. */
const lostReason = 'NodeLost';

/** `sinceMs`: when the readiness was first observed, in monotonic ms. */
export interface ObservedReadiness {
  readonly readiness: Readiness;
  readonly sinceMs: number;
}

/**
 * When to evict the node's pods, in monotonic ms; undefined while it is ready. The timeout counts from the report that
 * the node is not ready, or from the last heartbeat. Pure.
 */
export function evictionDueMs(observed: ObservedReadiness, health: Health, timeoutMs: number): number | undefined {
  if (observed.readiness === 'True') return undefined;
  return timeoutMs + (observed.readiness === 'False' ? observed.sinceMs : health.seenMs);
}

export class PodEvictor {
  readonly #context: ControllerContext;
  /** Indexed by node. */
  readonly #pods: Informer<Pod>;

  constructor(context: ControllerContext, pods: Informer<Pod>) {
    this.#context = context;
    this.#pods = pods;
  }

  /** Deletes all pods except those of daemon sets, which would be recreated at once. */
  async evictFrom(node: Node): Promise<void> {
    const name = node.metadata.name ?? '';
    const pods = podsOfNode(this.#pods, name).filter((pod) => !this.#isDaemon(pod));
    const remaining = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (remaining.length > 0) {
      this.#context.events.record(node, 'Normal', 'DeletingAllPods', `Deleting all Pods from Node ${name}.`);
    }
    const conflict = (await Promise.all(pods.map((pod) => this.#markLost(pod, name)))).includes('conflict');
    await Promise.all(remaining.map((pod) => this.#delete(pod, name)));
    if (conflict) throw new Error(`pods of the lost node ${name} changed before their status was updated, retrying`);
  }

  #isDaemon(pod: Pod): boolean {
    const owner = controllerOf(pod);
    return owner?.kind === 'DaemonSet' && owner.apiVersion === this.#context.dialect.apiVersion('apps', 'v1');
  }

  async #markLost(pod: Pod, node: string): Promise<'done' | 'conflict'> {
    if (pod.status?.reason === lostReason) return 'done';
    const message = `Node ${node} which was running pod ${pod.metadata.name} is unresponsive`;
    const status = { ...pod.status, reason: lostReason, message };
    try {
      await this.#context.client.resource(podType).updateStatus({ ...pod, status });
    } catch (error) {
      if (isConflict(error)) return 'conflict';
      if (!isNotFound(error)) throw error;
    }
    return 'done';
  }

  async #delete({ metadata }: Pod, node: string): Promise<void> {
    const { client, events } = this.#context;
    const { name = '', namespace = '', uid = '' } = metadata;
    const message = `Marking for deletion Pod ${name} from Node ${node}`;
    events.record({ apiVersion: 'v1', kind: 'Pod', metadata }, 'Normal', 'NodeControllerEviction', message);
    try {
      await client.resource(podType).delete(name, { namespace, preconditions: { uid } });
    } catch (error) {
      // The pod no longer exists, or another pod has its name.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}
