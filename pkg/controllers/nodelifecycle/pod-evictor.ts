/**
 * Deletes the pods of nodes that have not been ready for `--pod-eviction-timeout`, where no taint manager does it: as
 * release 1.24 with `--enable-taint-manager=false`.
 */
import { pods as podType } from '#api/core/v1/resources.gen.js';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { Informer } from '#client/informer/informer.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { podsOfNode } from '#controllers/framework/informers.js';
import { controllerOf } from '#controllers/framework/owners.js';
import type { Health, Readiness } from '#controllers/nodelifecycle/health.js';

/** What a pod's status says of a node that is lost. */
const lostReason = 'NodeLost';

/** A node's readiness, and since when it is seen here (monotonic ms). */
export interface SeenReadiness {
  readonly readiness: Readiness;
  readonly sinceMs: number;
}

/**
 * When the pods of the node are to go, in monotonic ms; undefined while it is ready. One that says itself that it is
 * not ready is given the time from then on, a silent one from its last sign of life. Pure.
 */
export function evictionDueMs(seen: SeenReadiness, health: Health, timeoutMs: number): number | undefined {
  if (seen.readiness === 'True') return undefined;
  return timeoutMs + (seen.readiness === 'False' ? seen.sinceMs : health.seenMs);
}

export class PodEvictor {
  readonly #context: ControllerContext;
  /** By node. */
  readonly #pods: Informer<Pod>;

  constructor(context: ControllerContext, pods: Informer<Pod>) {
    this.#context = context;
    this.#pods = pods;
  }

  /** Asks all of them to go; those of daemon sets stay, for they would come back at once. */
  async evictFrom(node: Node): Promise<void> {
    const name = node.metadata.name ?? '';
    const pods = podsOfNode(this.#pods, name).filter((pod) => !this.#isDaemon(pod));
    const leaving = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (leaving.length > 0) {
      this.#context.events.record(node, 'Normal', 'DeletingAllPods', `Deleting all Pods from Node ${name}.`);
    }
    const changed = (await Promise.all(pods.map((pod) => this.#tell(pod, name)))).includes('changed');
    await Promise.all(leaving.map((pod) => this.#delete(pod, name)));
    if (changed) throw new Error(`pods of node ${name} changed while they were told that it is lost`);
  }

  #isDaemon(pod: Pod): boolean {
    const owner = controllerOf(pod);
    return owner?.kind === 'DaemonSet' && owner.apiVersion === this.#context.dialect.apiVersion('apps', 'v1');
  }

  async #tell(pod: Pod, node: string): Promise<'told' | 'changed'> {
    if (pod.status?.reason === lostReason) return 'told';
    const message = `Node ${node} which was running pod ${pod.metadata.name} is unresponsive`;
    const status = { ...pod.status, reason: lostReason, message };
    try {
      await this.#context.client.resource(podType).updateStatus({ ...pod, status });
    } catch (error) {
      if (isConflict(error)) return 'changed';
      if (!isNotFound(error)) throw error;
    }
    return 'told';
  }

  async #delete({ metadata }: Pod, node: string): Promise<void> {
    const { client, events } = this.#context;
    const { name = '', namespace = '', uid = '' } = metadata;
    const message = `Marking for deletion Pod ${name} from Node ${node}`;
    events.record({ apiVersion: 'v1', kind: 'Pod', metadata }, 'Normal', 'NodeControllerEviction', message);
    try {
      await client.resource(podType).delete(name, { namespace, preconditions: { uid } });
    } catch (error) {
      // It is gone, or another one has its name.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}
