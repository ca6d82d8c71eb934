/** Deletes nodes without a machine at the cloud provider, and taints nodes whose machine is shut down. */
import { isNodeReady } from '#api/core/v1/node/conditions.js';
import { nodes as nodeType } from '#api/core/v1/resources.gen.js';
import type { Node, Taint } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import type { Instances } from '#cloud/provider/provider.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';

export interface CloudNodeLifecycleOptions {
  readonly instances: Instances;
  /** The interval between provider requests for a node that is not ready. */
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
      // As in 1.24, one request to the provider at a time.
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
          if (isNodeReady(node) !== isNodeReady(old)) add(node);
        },
      }),
    ]);
  }

  async #reconcile(name: string): Promise<Outcome> {
    const { instances, monitorPeriodMs } = this.#options;
    const node = this.#nodes.get(name);
    if (node === undefined) return done;
    if (isNodeReady(node)) {
      await this.#taint(node, false);
      return done;
    }
    try {
      if (!(await instances.exists(node))) await this.#delete(node);
      else if (await instances.isShutdown(node)) await this.#taint(node, true);
    } catch (error) {
      // A provider failure does not mean that the machine is gone.
      this.#loop.log.error({ err: error, node: name }, 'failed to query the machine of a node');
    }
    return requeueAfter(monitorPeriodMs);
  }

  async #delete(node: Node): Promise<void> {
    const { client, events } = this.#context;
    const { name = '', uid = '' } = node.metadata;
    const message = `Deleting node ${name} because it does not exist in the cloud provider`;
    events.record(node, 'Normal', 'DeletingNode', message);
    try {
      await client.resource(nodeType).delete(name, { preconditions: { uid } });
      this.#loop.written.deleted(name, this.#nodes, node);
    } catch (error) {
      if (isNotFound(error)) return;
      this.#loop.log.error({ err: error, node: name }, 'failed to delete a node');
      events.record(node, 'Warning', 'DeletingNodeFailed', `Failed deleting node ${name}: ${messageOf(error)}`);
    }
  }

  async #taint(node: Node, isShutdown: boolean): Promise<void> {
    const { client, dialect } = this.#context;
    const taints = taintsFor(node, dialect.taints.shutdown, isShutdown);
    if (taints === undefined) return;
    try {
      const updated = await client.resource(nodeType).update({ ...node, spec: { ...node.spec, taints } });
      this.#loop.written.wrote(node.metadata.name ?? '', this.#nodes, updated);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

const shutdownEffect = 'NoSchedule';

/** The node's taints with or without the shutdown taint; undefined when nothing changes. Pure. */
function taintsFor({ spec }: Node, key: string, isShutdown: boolean): Taint[] | undefined {
  const taints = spec.taints ?? [];
  const rest = taints.filter((taint) => taint.key !== key || taint.effect !== shutdownEffect);
  if (isShutdown === rest.length < taints.length) return undefined;
  return isShutdown ? [...taints, { key, effect: shutdownEffect }] : rest;
}
