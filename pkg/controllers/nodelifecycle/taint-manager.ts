/** Deletes pods that do not tolerate the NoExecute taints of their node, or whose toleration time has passed. */
import { tolerates } from '#api/core/v1/node/taints.js';
import { nodes as nodeType, pods as podType } from '#api/core/v1/resources.gen.js';
import type { Node, Pod, Taint } from '#api/core/v1/types.gen.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import type { ControllerContext, EventSink } from '#controllers/framework/context.js';
import { indexByNode, podsOfNode, sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';

const concurrency = 8;

export class TaintManager {
  readonly #context: ControllerContext;
  readonly #events: EventSink;
  readonly #nodes: Informer<Node>;
  readonly #pods: Informer<Pod>;
  readonly #loop: ReconcileLoop;
  /** When the pods to evict became subject to the taints (monotonic ms), by UID. */
  readonly #taintedSince = new Map<string, number>();

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#events = context.eventsFrom?.('taint-controller') ?? context.events;
    this.#nodes = sharedInformer(context.informers, nodeType);
    this.#pods = sharedInformer(context.informers, podType);
    indexByNode(this.#pods);
    this.#loop = new ReconcileLoop(context, {
      name: 'noexec_taint_pod',
      concurrency,
      reconcile: (key) => this.#reconcile(key),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { queue } = this.#loop;
    const addPodsOf = (node: Node) => {
      for (const pod of podsOfNode(this.#pods, node.metadata.name ?? '')) queue.add(keyOf(pod));
    };
    await this.#loop.run(signal, [
      this.#nodes.addHandler({
        onAdd: (node) => {
          if (noExecuteTaints(node).length > 0) addPodsOf(node);
        },
        onUpdate: (node, old) => {
          if (!semanticEqual(noExecuteTaints(node), noExecuteTaints(old))) addPodsOf(node);
        },
      }),
      this.#pods.addHandler({
        onAdd: (pod) => this.#enqueueIfTainted(pod),
        onUpdate: (pod, old) => {
          const moved = pod.spec.nodeName !== old.spec.nodeName;
          if (moved || !semanticEqual(pod.spec.tolerations, old.spec.tolerations)) this.#enqueueIfTainted(pod);
        },
        onDelete: ({ metadata }) => this.#taintedSince.delete(metadata.uid ?? ''),
      }),
    ]);
  }

  #enqueueIfTainted(pod: Pod): void {
    const tainted = noExecuteTaints(this.#nodes.get(pod.spec.nodeName ?? '')).length > 0;
    if (tainted || this.#taintedSince.has(pod.metadata.uid ?? '')) this.#loop.queue.add(keyOf(pod));
  }

  async #reconcile(key: string): Promise<Outcome> {
    const { clock } = this.#context;
    const pod = this.#pods.get(key);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return done;
    const uid = pod.metadata.uid ?? '';
    const plan = planEviction(pod, noExecuteTaints(this.#nodes.get(pod.spec.nodeName ?? '')));
    if (plan.kind === 'stay') {
      if (this.#taintedSince.delete(uid)) {
        this.#events.record(pod, 'Normal', 'TaintManagerEviction', `Cancelling deletion of Pod ${key}`);
      }
      return done;
    }
    const sinceMs = this.#taintedSince.get(uid) ?? clock.monotonic();
    this.#taintedSince.set(uid, sinceMs);
    const waitMs = sinceMs + plan.afterMs - clock.monotonic();
    if (waitMs > 0) return requeueAfter(waitMs);
    await this.#evict(pod, key);
    return done;
  }

  async #evict(pod: Pod, key: string): Promise<void> {
    const { client, metrics } = this.#context;
    const { name = '', namespace = '', uid = '' } = pod.metadata;
    this.#events.record(pod, 'Normal', 'TaintManagerEviction', `Marking for deletion Pod ${key}`);
    try {
      await client.resource(podType).delete(name, { namespace, preconditions: { uid } });
      metrics.count('taint_manager_evictions_total', 'Pods deleted because of taints of their node');
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

type EvictionPlan =
  | { readonly kind: 'stay' }
  /** Evict the pod after this time under the taints. */
  | { readonly kind: 'evict'; readonly afterMs: number };

/** The node's NoExecute taints. Pure. */
function noExecuteTaints(node: Node | undefined): readonly Taint[] {
  return (node?.spec.taints ?? []).filter((taint) => taint.effect === 'NoExecute');
}

export function planEviction(pod: Pod, taints: readonly Taint[]): EvictionPlan {
  if (taints.length === 0) return { kind: 'stay' };
  const tolerations = pod.spec.tolerations ?? [];
  let seconds: number | undefined;
  for (const taint of taints) {
    const matching = tolerations.filter((toleration) => tolerates(toleration, taint));
    if (matching.length === 0) return { kind: 'evict', afterMs: 0 };
    for (const { tolerationSeconds } of matching) {
      if (tolerationSeconds !== undefined)
        seconds = Math.max(0, Math.min(seconds ?? Number.POSITIVE_INFINITY, Number(tolerationSeconds)));
    }
  }
  return seconds === undefined ? { kind: 'stay' } : { kind: 'evict', afterMs: seconds * 1000 };
}
