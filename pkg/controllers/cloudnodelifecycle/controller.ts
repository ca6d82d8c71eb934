/** Deletes nodes whose machines the provider does not know any more, and taints those whose machines are shut down. */
import { nodes as nodeType } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import type { Instances } from '#cloud/provider/provider.js';
import { isInDoubt, taintsFor } from '#controllers/cloudnodelifecycle/plan.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';

export interface CloudNodeLifecycleOptions {
  readonly instances: Instances;
  /** Interval of asking about a node that is not ready. */
  readonly monitorPeriodMs: number;
}

export class CloudNodeLifecycleController implements Controller {
  readonly name = 'cloud-node-lifecycle';
  readonly #context: ControllerContext;
  readonly #options: CloudNodeLifecycleOptions;
  readonly #nodes: Informer<Node>;
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext, options: CloudNodeLifecycleOptions) {
    this.#context = context;
    this.#options = options;
    this.#nodes = sharedInformer(context.informers, nodeType);
    this.#loop = new ReconcileLoop(context, {
      name: this.name,
      // One after the other, as in 1.24: it is the provider's patience.
      concurrency: 1,
      reconcile: (name) => this.#reconcile(name),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = ({ metadata }: Node) => this.#loop.queue.add(metadata.name ?? '');
    await this.#loop.run(signal, [
      this.#nodes.addHandler({
        onAdd: add,
        onUpdate: (node, old) => {
          if (isInDoubt(node) !== isInDoubt(old)) add(node);
        },
      }),
    ]);
  }

  async #reconcile(name: string): Promise<Outcome> {
    const { instances, monitorPeriodMs } = this.#options;
    const node = this.#nodes.get(name);
    if (node === undefined) return done;
    if (!isInDoubt(node)) {
      await this.#taint(node, false);
      return done;
    }
    try {
      if (!(await instances.exists(node))) await this.#delete(node);
      else if (await instances.isShutdown(node)) await this.#taint(node, true);
    } catch (error) {
      // Whoever cannot tell says nothing of the node.
      this.#loop.log.error({ err: error, node: name }, 'asking for the machine of a node failed');
    }
    return requeueAfter(monitorPeriodMs);
  }

  async #delete(node: Node): Promise<void> {
    const { client, events } = this.#context;
    const { name = '', uid = '' } = node.metadata;
    const told = `Deleting node ${name} because it does not exist in the cloud provider`;
    events.record(node, 'Normal', 'DeletingNode', told);
    try {
      await client.resource(nodeType).delete(name, { preconditions: { uid } });
      this.#loop.written.deleted(name, this.#nodes, node);
    } catch (error) {
      if (isNotFound(error)) return;
      this.#loop.log.error({ err: error, node: name }, 'deleting a node failed');
      events.record(node, 'Warning', 'DeletingNodeFailed', `Failed deleting node ${name}: ${messageOf(error)}`);
    }
  }

  async #taint(node: Node, isShutdown: boolean): Promise<void> {
    const { client, dialect } = this.#context;
    const taints = taintsFor(node, dialect.taints.shutdown, isShutdown);
    if (taints === undefined) return;
    try {
      const answer = await client.resource(nodeType).update({ ...node, spec: { ...node.spec, taints } });
      this.#loop.written.wrote(node.metadata.name ?? '', this.#nodes, answer);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
