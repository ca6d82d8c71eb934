/** Updates the nodes of all load balancers when nodes change. */
import type { Node, Service } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Lister } from '#client/informer/informer.js';
import { type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import { takesBalancedTraffic, wantsLoadBalancer } from '#cloud/provider/load-balancing.js';
import type { LoadBalancers } from '#cloud/provider/provider.js';
import { allWithin } from '#controllers/framework/bounded-concurrency.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { exponentialBuckets } from '#daemon/metrics/metric.js';

const buckets = exponentialBuckets(1, 2, 15);

const syncLatency = {
  name: 'service_controller_nodesync_latency_seconds',
  help: 'A metric measuring the latency for nodesync which updates loadbalancer hosts on cluster node updates.',
  buckets,
};

const updateLatency = {
  name: 'service_controller_update_loadbalancer_host_latency_seconds',
  help: 'A metric measuring the latency for updating each load balancer hosts.',
  buckets,
};

/** The interval for retrying failed updates, as in 1.24. */
const periodMs = 100_000;

/** The only key of the queue. */
const all = 'nodes';

export const noHosts = 'There are no available nodes for LoadBalancer';

export interface NodeSyncOptions {
  readonly nodes: Lister<Node>;
  readonly balancers: LoadBalancers;
  readonly cluster: string;
  /** The maximum of concurrent updates. */
  readonly concurrency: number;
  /** The current services that may have load balancers. */
  readonly services: () => Iterable<Service>;
}

export class NodeSync {
  readonly #context: ControllerContext;
  readonly #options: NodeSyncOptions;
  readonly #loop: ReconcileLoop;
  /** The names of the nodes in the last full update. */
  #syncedHosts = '';
  /** Keys of services whose last update failed. */
  #failed = new Set<string>();

  constructor(context: ControllerContext, options: NodeSyncOptions) {
    this.#context = context;
    this.#options = options;
    this.#loop = new ReconcileLoop(context, {
      name: 'service_node_sync',
      concurrency: 1,
      reconcile: () => this.#sync(),
    });
  }

  /** Must be called when nodes change. */
  trigger(): void {
    this.#loop.queue.add(all);
  }

  /** The nodes that receive traffic. */
  hosts(): Node[] {
    return this.#options.nodes.list().filter((node) => takesBalancedTraffic(this.#context.dialect, node));
  }

  async run(signal: AbortSignal): Promise<void> {
    this.trigger();
    await this.#loop.run(signal);
  }

  async #sync(): Promise<Outcome> {
    const { clock, metrics } = this.#context;
    const startMs = clock.monotonic();
    const names = hostNames(this.hosts()).join(' ');
    const isFull = names !== this.#syncedHosts;
    this.#syncedHosts = names;
    const due = [...this.#options.services()].filter(
      (service) => wantsLoadBalancer(service) && (isFull || this.#failed.has(keyOf(service))),
    );
    const failed = new Set<string>();
    await allWithin(due, this.#options.concurrency, async (service) => {
      if (!(await this.#update(service))) failed.add(keyOf(service));
    });
    this.#failed = failed;
    metrics.observe(syncLatency, (clock.monotonic() - startMs) / 1000);
    return requeueAfter(periodMs);
  }

  /** False when the update must be retried. */
  async #update(service: Service): Promise<boolean> {
    const { balancers, cluster } = this.#options;
    const { clock, metrics, events, log } = this.#context;
    const startMs = clock.monotonic();
    // Read the nodes for each service, because they may change during many updates.
    const hosts = this.hosts();
    try {
      await balancers.update(cluster, service, hosts);
      if (hosts.length === 0) events.record(service, 'Warning', 'UnAvailableLoadBalancer', noHosts);
      else events.record(service, 'Normal', 'UpdatedLoadBalancer', 'Updated load balancer with new hosts');
      return true;
    } catch (error) {
      log.error({ err: error, service: keyOf(service) }, 'failed to update the hosts of a load balancer');
      if (await this.#isGone(service)) return true;
      const message = `Error updating load balancer with new hosts map[${hostNames(hosts)
        .map((name) => `${name}:{}`)
        .join(' ')}]: ${messageOf(error)}`;
      events.record(service, 'Warning', 'UpdateLoadBalancerFailed', message);
      return false;
    } finally {
      metrics.observe(updateLatency, (clock.monotonic() - startMs) / 1000);
    }
  }

  async #isGone(service: Service): Promise<boolean> {
    const { balancers, cluster } = this.#options;
    try {
      return (await balancers.get(cluster, service)) === undefined;
    } catch (error) {
      this.#context.log.error({ err: error, service: keyOf(service) }, 'failed to look up a load balancer');
      return false;
    }
  }
}

function hostNames(nodes: readonly Node[]): string[] {
  return nodes.map(({ metadata }) => metadata.name ?? '').sort();
}
