/** Keeps the provider's routes to the pods of nodes, and says of each node whether it has them. */
import { nodes as nodeType } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { formatDuration } from '#apimachinery/duration.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { IPBlock } from '#apimachinery/net/ip.js';
import type { Informer } from '#client/informer/informer.js';
import { type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import type { Route, Routes } from '#cloud/provider/provider.js';
import { allWithin } from '#controllers/framework/bounded.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { networkCondition, planRoutes, type WantedRoute } from '#controllers/route/plan.js';

export interface RouteControllerOptions {
  readonly routes: Routes;
  /** `--cluster-name`. */
  readonly cluster: string;
  /** `--cluster-cidr`. */
  readonly clusterRanges: readonly IPBlock[];
  /** `--route-reconciliation-period`. */
  readonly periodMs: number;
}

/** As in 1.24: requests under way at once, tries of one that meets a conflict, and the pause between them. */
const concurrency = 200;
const tries = { times: 5, pauseMs: 100 };

/** There is one piece of work. */
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
        this.#tell(node, (node.spec.podCIDRs ?? []).length > 0 && !missing.has(node), signal),
      );
    } catch (error) {
      this.#loop.log.error({ err: error }, 'reconciling the routes of nodes failed');
    }
    return requeueAfter(periodMs);
  }

  async #delete(route: Route): Promise<void> {
    try {
      await this.#options.routes.delete(this.#options.cluster, route);
    } catch (error) {
      this.#loop.log.error({ err: error, route }, 'deleting a route failed');
    }
  }

  /** False when it could not be made. */
  async #create({ node, destinationCIDR }: WantedRoute, signal: AbortSignal): Promise<boolean> {
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
      await this.#overConflicts(create, signal);
      return true;
    } catch (error) {
      this.#loop.log.error({ err: error, node: name, destinationCIDR }, 'creating a route failed');
      return false;
    }
  }

  async #tell(node: Node, isRouted: boolean, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#context;
    const condition = networkCondition(node, isRouted, clock.now());
    if (condition === undefined) return;
    const { name = '' } = node.metadata;
    const patch = { status: { conditions: [condition] } };
    const write = () => client.resource(nodeType).patch(name, patch, { type: 'strategic', subresource: 'status' });
    try {
      this.#loop.written.wrote(all, this.#nodes, await this.#overConflicts(write, signal));
    } catch (error) {
      if (!isNotFound(error)) this.#loop.log.error({ err: error, node: name }, 'writing a network condition failed');
    }
  }

  async #overConflicts<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { clock, random } = this.#context;
    for (let left = tries.times - 1; ; left -= 1) {
      try {
        return await work();
      } catch (error) {
        if (!isConflict(error) || left === 0 || signal.aborted) throw error;
        await clock.sleep(tries.pauseMs * (1 + random()), signal);
      }
    }
  }
}
