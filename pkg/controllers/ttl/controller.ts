/**
 * Writes an annotation to nodes with the time for which node agents may cache ConfigMaps and Secrets. As in 1.24, a change
 * of the cluster size takes effect at each node's next update, which avoids a burst of writes.
 */
import { nodes as nodeType } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';

/** As in 1.24, which has no option for it. */
const concurrency = 5;

export class TTLController implements Controller {
  readonly name = 'ttl';
  readonly #context: ControllerContext;
  readonly #nodes: Informer<Node>;
  readonly #loop: ReconcileLoop;
  #step = 0;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#nodes = sharedInformer(context.informers, nodeType);
    this.#loop = new ReconcileLoop(context, {
      name: 'ttl',
      queueName: 'ttlcontroller',
      concurrency,
      reconcile: (key) => this.#reconcile(key),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = (node: Node) => this.#loop.queue.add(keyOf(node));
    const measure = () => {
      this.#step = nextStep(this.#step, this.#nodes.size);
    };
    const onAdd = (node: Node) => {
      measure();
      add(node);
    };
    await this.#loop.run(signal, [this.#nodes.addHandler({ onAdd, onUpdate: add, onDelete: measure })]);
  }

  async #reconcile(key: string): Promise<Outcome> {
    const node = this.#nodes.get(key);
    const { client, dialect } = this.#context;
    const patch = node && ttlPatch(node, this.#step, dialect);
    if (patch === undefined) return done;
    try {
      this.#loop.written.wrote(
        key,
        this.#nodes,
        await client.resource(nodeType).patch(key, patch, { type: 'strategic' }),
      );
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return done;
  }
}

/** A range of cluster sizes, inclusive. Ranges overlap, so that a cluster at a boundary does not alternate. */
interface Step {
  readonly min: number;
  readonly max: number;
  readonly ttlSeconds: number;
}

/** As in 1.24. */
const steps: readonly Step[] = [
  { min: 0, max: 100, ttlSeconds: 0 },
  { min: 90, max: 500, ttlSeconds: 15 },
  { min: 450, max: 1000, ttlSeconds: 30 },
  { min: 900, max: 2000, ttlSeconds: 60 },
  { min: 1800, max: 10_000, ttlSeconds: 300 },
  { min: 9000, max: Number.POSITIVE_INFINITY, ttlSeconds: 600 },
];

/** The new step; `step` is the previous one, initially 0. Pure. */
export function nextStep(step: number, nodes: number): number {
  let next = step;
  while (nodes > (steps[next]?.max ?? nodes)) next += 1;
  while (nodes < (steps[next]?.min ?? 0)) next -= 1;
  return next;
}

export function ttlSecondsOf(step: number): number {
  return steps[step]?.ttlSeconds ?? 0;
}

/** Undefined when the annotation is unchanged. Replaces malformed values. Pure. */
export function ttlPatch(node: Node, step: number, { annotations }: Dialect): object | undefined {
  const ttlSeconds = ttlSecondsOf(step);
  const text = node.metadata.annotations?.[annotations.nodeTTL] ?? '';
  if (/^[+-]?\d+$/.test(text) && Number(text) === ttlSeconds) return undefined;
  return { metadata: { annotations: { [annotations.nodeTTL]: String(ttlSeconds) } } };
}
