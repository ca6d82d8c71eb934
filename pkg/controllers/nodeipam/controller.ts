/**
 * Allocates a pod address range to each node. Ranges are unique: allocation starts from a live list at the start of the
 * term, not from a possibly lagging cache, and writes of earlier terms are fenced.
 */
import { nodes as nodeType } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { Backoff } from '#apimachinery/backoff/backoff.js';
import { isInvalid, isNotFound } from '#apimachinery/errors/status.js';
import type { IPBlock } from '#apimachinery/net/ip.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { ResourceClient } from '#client/client.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { cachesSynced, ReconcileLoop } from '#controllers/framework/loop.js';
import { CidrSet } from '#controllers/nodeipam/cidr-set.js';
import { NodeBlocks } from '#controllers/nodeipam/node-blocks.js';
import type { NodeRange } from '#controllers/nodeipam/ranges.js';

export interface NodeIPAMOptions {
  /** One per family, the primary family first. */
  readonly ranges: readonly NodeRange[];
  /** Service ranges, which are not allocated to nodes. */
  readonly serviceRanges: readonly IPBlock[];
}

/** As in 1.24, which has no options for them. */
const concurrency = 30;
const failuresUntilEvent = 3;

/** The delay before checking again whether a lagging cache shows that a node is deleted. */
const lagMs = 10_000;

const usage = {
  name: 'node_ipam_controller_cidrset_usage_cidrs',
  help: '[ALPHA] Part of the ranges for nodes that are in use, 0 to 1',
  labelNames: ['clusterCIDR'],
};
const tries = {
  name: 'node_ipam_controller_cidrset_allocation_tries_per_request',
  help: '[ALPHA] Number of places that were looked at for one range',
  buckets: [1, 5, 25, 125, 625],
};
const help = {
  allocations: '[ALPHA] Number of ranges for nodes that came into use',
  releases: '[ALPHA] Number of ranges for nodes that became free',
};

export class NodeIPAMController implements Controller {
  readonly name = 'nodeipam';
  readonly #context: ControllerContext;
  readonly #nodes: Informer<Node>;
  readonly #client: ResourceClient<Node>;
  readonly #loop: ReconcileLoop;
  readonly #sets: readonly CidrSet[];
  readonly #blocks: NodeBlocks;
  /** Nodes without a free block, in order of arrival. */
  readonly #waiting = new Set<string>();
  /** The number of consecutive failed writes. */
  readonly #failures = new Map<string, number>();

  constructor(context: ControllerContext, { ranges, serviceRanges }: NodeIPAMOptions) {
    this.#context = context;
    this.#nodes = sharedInformer(context.informers, nodeType);
    this.#client = context.client.resource(nodeType);
    this.#sets = ranges.map(({ range, prefix }) => {
      const set: CidrSet = new CidrSet(range, prefix, (change) => {
        const name = `node_ipam_controller_cidrset_cidrs_${change}_total`;
        context.metrics.count(name, help[change], { clusterCIDR: set.range });
      });
      for (const service of serviceRanges) {
        const span = set.spanOf(service);
        if (span !== undefined) set.hold(span);
      }
      return set;
    });
    this.#blocks = new NodeBlocks(this.#sets);
    this.#loop = new ReconcileLoop(context, {
      name: 'node_ipam',
      concurrency,
      reconcile: (key) => this.#reconcile(key),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    if (!(await cachesSynced(this.#context, signal)) || !(await this.#readNodes(signal))) {
      this.#loop.queue.shutDown();
      return;
    }
    const sample = (set: CidrSet) => ({ labels: { clusterCIDR: set.range }, value: set.used / set.size });
    const endUsage = this.#context.metrics.gauge(usage, () => this.#sets.map(sample));
    const add = (node: Node) => this.#loop.queue.add(keyOf(node));
    const observe = (node: Node) => {
      // Record its blocks before another node is reconciled.
      this.#observe(node);
      add(node);
    };
    const endNodes = this.#nodes.addHandler({ onAdd: observe, onUpdate: observe, onDelete: add });
    await this.#loop.run(signal, [endNodes, endUsage]);
  }

  /** Reads the nodes' blocks from the API server; false if `signal` aborts before. */
  async #readNodes(signal: AbortSignal): Promise<boolean> {
    const { clock, random } = this.#context;
    const backoff = new Backoff({ initialMs: 100, maxMs: 10_000, jitter: 0.5, random });
    while (!signal.aborted) {
      try {
        for (const node of (await this.#client.list({ signal })).items) {
          this.#observe(node);
          this.#loop.written.wrote(keyOf(node), this.#nodes, node);
          this.#loop.queue.add(keyOf(node));
        }
        return true;
      } catch (error) {
        if (signal.aborted) return false;
        this.#loop.log.warn({ err: error }, 'failed to list nodes, retrying');
        await clock.sleep(backoff.nextMs(), signal);
      }
    }
    return false;
  }

  #observe(node: Node): void {
    for (const cidr of this.#blocks.observe(node)) {
      this.#loop.log.warn({ node: keyOf(node), cidr }, 'node has a range outside of the cluster ranges');
    }
  }

  async #reconcile(key: string): Promise<Outcome> {
    const node = this.#nodes.get(key);
    const allFreed = this.#blocks.freeDeleted(key, node, this.#nodes.lastVersion);
    this.#waiting.delete(key);
    if (node === undefined || (node.spec.podCIDRs ?? []).length > 0) {
      this.#failures.delete(key);
      this.#wakeOne();
      return allFreed ? done : requeueAfter(lagMs);
    }
    const cidrs = this.#blocks.reserve(node);
    if (cidrs === undefined) {
      this.#waiting.add(key);
      this.#recordStatus(node, 'CIDRNotAvailable');
      return done;
    }
    this.#wakeOne();
    return this.#write(key, node, cidrs);
  }

  async #write(key: string, node: Node, podCIDRs: readonly string[]): Promise<Outcome> {
    // Rejected if the name has another UID now, or the node has other ranges.
    const patch = { metadata: { uid: node.metadata.uid }, spec: { podCIDR: podCIDRs[0], podCIDRs } };
    try {
      this.#wrote(key, await this.#client.patch(key, patch, { type: 'strategic' }));
      for (const { range } of this.#sets) this.#context.metrics.observe(tries, 1, { clusterCIDR: range });
      this.#failures.delete(key);
      this.#loop.log.info({ node: key, podCIDRs }, 'assigned pod ranges to a node');
      return done;
    } catch (error) {
      if (isNotFound(error)) return done;
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      if (failures % failuresUntilEvent === 0) this.#recordStatus(node, 'CIDRAssignmentFailed');
      // The cache is stale.
      if (isInvalid(error)) this.#wrote(key, await this.#client.get(key));
      throw error;
    }
  }

  #wrote(key: string, node: Node): void {
    this.#loop.written.wrote(key, this.#nodes, node);
    this.#observe(node);
  }

  #recordStatus(node: Node, status: string): void {
    this.#context.events.record(node, 'Normal', status, `Node ${node.metadata.name} status is now: ${status}`);
  }

  /** Enqueues the first waiting node if a block is free; its reconcile wakes the next node. */
  #wakeOne(): void {
    const [first] = this.#waiting;
    if (first !== undefined && this.#blocks.hasFree) this.#loop.queue.add(first);
  }
}
