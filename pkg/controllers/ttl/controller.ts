/**
 * Tells node agents in an annotation of their nodes how long they may keep ConfigMaps and Secrets. When the size of the
 * cluster takes it to another step, each node is told at its next update, as in 1.24: all of them at once would be a burst
 * just when the cluster grows.
 */
import { nodes as nodeType } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { nextStep, ttlPatch } from '#controllers/ttl/plan.js';

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
