/** Maintains the cloud provider's routes to nodes' pods, and each node's NetworkUnavailable condition. */
import { getNodeCondition } from '#api/core/v1/node/conditions.js';
import { nodes as nodeType } from '#api/core/v1/resources.gen.js';
import type { Node, NodeCondition } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { formatDuration } from '#apimachinery/duration.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { blockHolds, type IPBlock, parseCIDR } from '#apimachinery/net/ip.js';
import type { Informer } from '#client/informer/informer.js';
import { type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import type { Route, Routes } from '#cloud/provider/provider.js';
import { allWithin } from '#controllers/framework/bounded-concurrency.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';

export interface RouteControllerOptions {
  readonly routes: Routes;
  /** `--cluster-name`. */
  readonly cluster: string;
  /** `--cluster-cidr`. */
  readonly clusterRanges: readonly IPBlock[];
  /** `--route-reconciliation-period`. */
  readonly periodMs: number;
}

/** As in 1.24: concurrent requests, attempts after conflicts, and the pause between attempts. */
const concurrency = 200;
const attempts = { limit: 5, pauseMs: 100 };

/** The only key of the queue. */
const all = 'routes';

export class RouteController implements Controller {
  readonly name = 'route';
  readonly #context: ControllerContext;
  readonly #options: RouteControllerOptions;
  readonly #nodes: Informer<Node>;
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext, options: RouteControllerOptions) {
    this.#context = context;
    this.#options = options;
    this.#nodes = sharedInformer(context.informers, nodeType);
    this.#loop = new ReconcileLoop(context, {
      name: this.name,
      concurrency: 1,
      reconcile: (_, signal) => this.#reconcile(signal),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#loop.queue.add(all);
    await this.#loop.run(signal);
  }

  async #reconcile(signal: AbortSignal): Promise<Outcome> {
    const { routes, cluster, clusterRanges, periodMs } = this.#options;
    try {
      const present = await routes.list(cluster);
      const nodes = this.#nodes.list();
      const { creates, deletes } = planRoutes(nodes, present, clusterRanges);
      const missing = new Set<Node>();
      await Promise.all([
        allWithin(deletes, concurrency, (route) => this.#delete(route)),
        allWithin(creates, concurrency, async (route) => {
          if (!(await this.#create(route, signal))) missing.add(route.node);
        }),
      ]);
      await allWithin(nodes, concurrency, (node) =>
        this.#writeCondition(node, (node.spec.podCIDRs ?? []).length > 0 && !missing.has(node), signal),
      );
    } catch (error) {
      this.#loop.log.error({ err: error }, 'failed to reconcile the routes of nodes');
    }
    return requeueAfter(periodMs);
  }

  async #delete(route: Route): Promise<void> {
    try {
      await this.#options.routes.delete(this.#options.cluster, route);
    } catch (error) {
      this.#loop.log.error({ err: error, route }, 'failed to delete a route');
    }
  }

  /** False when the creation failed. */
  async #create({ node, destinationCIDR }: NodeRoute, signal: AbortSignal): Promise<boolean> {
    const { clock, events } = this.#context;
    const { name = '', uid = '' } = node.metadata;
    const create = async () => {
      const startMs = clock.monotonic();
      try {
        await this.#options.routes.create(this.#options.cluster, uid, { targetNode: name, destinationCIDR });
      } catch (error) {
        const took = formatDuration(clock.monotonic() - startMs);
        const what = `Could not create route ${uid} ${destinationCIDR} for node ${name} after ${took}`;
        events.record(node, 'Warning', 'FailedToCreateRoute', `${what}: ${messageOf(error)}`);
        throw error;
      }
    };
    try {
      await this.#retryConflicts(create, signal);
      return true;
    } catch (error) {
      this.#loop.log.error({ err: error, node: name, destinationCIDR }, 'failed to create a route');
      return false;
    }
  }

  async #writeCondition(node: Node, isRouted: boolean, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#context;
    const condition = networkCondition(node, isRouted, clock.now());
    if (condition === undefined) return;
    const { name = '' } = node.metadata;
    const patch = { status: { conditions: [condition] } };
    const write = () => client.resource(nodeType).patch(name, patch, { type: 'strategic', subresource: 'status' });
    try {
      this.#loop.written.wrote(all, this.#nodes, await this.#retryConflicts(write, signal));
    } catch (error) {
      if (!isNotFound(error)) this.#loop.log.error({ err: error, node: name }, 'failed to write a network condition');
    }
  }

  async #retryConflicts<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { clock, random } = this.#context;
    for (let left = attempts.limit - 1; ; left -= 1) {
      try {
        return await work();
      } catch (error) {
        if (!isConflict(error) || left === 0 || signal.aborted) throw error;
        await clock.sleep(attempts.pauseMs * (1 + random()), signal);
      }
    }
  }
}

export interface NodeRoute {
  readonly node: Node;
  readonly destinationCIDR: string;
}

export interface RoutePlan {
  readonly creates: readonly NodeRoute[];
  readonly deletes: readonly Route[];
}

/** Plans missing and surplus routes, as in 1.24. Routes outside of `clusterRanges` are ignored. Pure. */
export function planRoutes(
  nodes: readonly Node[],
  routes: readonly Route[],
  clusterRanges: readonly IPBlock[],
): RoutePlan {
  const key = (node: string, cidr: string) => `${node} ${cidr}`;
  const desired = nodes.flatMap((node) =>
    (node.spec.podCIDRs ?? []).map((destinationCIDR) => ({ node, destinationCIDR })),
  );
  const desiredKeys = new Set(
    desired.map(({ node, destinationCIDR }) => key(node.metadata.name ?? '', destinationCIDR)),
  );
  const present = new Set(routes.map(({ targetNode, destinationCIDR }) => key(targetNode, destinationCIDR)));
  const isOurs = ({ destinationCIDR }: Route) => {
    const block = parseCIDR(destinationCIDR);
    return block !== undefined && clusterRanges.some((range) => blockHolds(range, block));
  };
  return {
    creates: desired.filter(
      ({ node, destinationCIDR }) => !present.has(key(node.metadata.name ?? '', destinationCIDR)),
    ),
    deletes: routes.filter(
      (route) =>
        isOurs(route) && (route.blackhole === true || !desiredKeys.has(key(route.targetNode, route.destinationCIDR))),
    ),
  };
}

/** The node's new NetworkUnavailable condition; undefined when unchanged. */
function networkCondition({ status }: Node, isRouted: boolean, now: number): NodeCondition | undefined {
  const unavailable = isRouted ? 'False' : 'True';
  if (getNodeCondition(status, 'NetworkUnavailable')?.status === unavailable) return undefined;
  const time = formatTime(now);
  return {
    type: 'NetworkUnavailable',
    status: unavailable,
    reason: isRouted ? 'RouteCreated' : 'NoRouteCreated',
    message: isRouted ? 'RouteController created a route' : 'RouteController failed to create a route',
    lastHeartbeatTime: time,
    lastTransitionTime: time,
  };
}
