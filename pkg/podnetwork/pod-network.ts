/**
 * Connects the pods of this machine with those of other nodes: watches the nodes, and maintains routes and the tunnel. These
 * stay when it stops, so that traffic continues during a restart.
 */
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { aborted } from '#apimachinery/async/abort.js';
import { Backoff } from '#apimachinery/backoff/backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import type { InformerFactory } from '#client/informer/informer.js';
import type { Daemon } from '#daemon/daemon.js';
import { Lifetime } from '#daemon/lifetime.js';
import type { Logger } from '#daemon/log/logger.js';
import type { KernelNetwork } from '#podnetwork/kernel.js';
import { type NetworkPlan, type PodNode, planNetwork } from '#podnetwork/plan.js';

export interface PodNetworkOptions {
  /** The caller starts and stops them. */
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  /** Names of this machine's nodes. */
  readonly own: readonly string[];
  readonly kernel: Pick<KernelNetwork, 'links' | 'apply'>;
  /** Name of the tunnel's interface. */
  readonly tunnel: string;
}

const minPauseMs = 100;
/** Interval of checks: removed interfaces take their routes with them, without a notification. */
const checkMs = 30_000;
/** Interval of a machine without routes. */
const idleCheckMs = 3_600_000;

export class PodNetwork implements Daemon {
  readonly name = 'pod-network';
  readonly #options: PodNetworkOptions;
  readonly #life = new Lifetime('the network of pods');
  /** Ends the pause. */
  #wake = new AbortController();
  #loggedProblems = '';

  constructor(options: PodNetworkOptions) {
    this.#options = options;
  }

  start(signal: AbortSignal): Promise<void> {
    return this.#life.run(signal, (stopping) => this.#run(stopping));
  }

  /** Resolves when all nodes that exist at the start are reachable. */
  ready(): Promise<void> {
    return this.#life.ready();
  }

  close(): Promise<void> {
    return this.#life.close();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, informers, log, random } = this.#options;
    const informer = informers.informer(nodes, { transform: relevantFields });
    const changed = () => this.#wake.abort();
    signal.addEventListener('abort', changed, { once: true });
    const removeHandler = informer.addHandler({
      onAdd: changed,
      onUpdate: (node, old) => {
        if (isDifferent(node, old)) changed();
      },
      onDelete: changed,
    });
    const backoff = new Backoff({ initialMs: 500, maxMs: checkMs, jitter: 0.2, random });
    try {
      // With an incomplete list the routes to the other nodes would be removed.
      await Promise.race([informer.whenSynced(), aborted(signal)]);
      while (!signal.aborted) {
        this.#wake = new AbortController();
        let pauseMs = checkMs;
        try {
          const { routes } = await this.#apply(informer.list().map(podNode));
          if (routes.length === 0) pauseMs = idleCheckMs;
          this.#life.becameReady();
          backoff.reset();
        } catch (error) {
          log.error({ err: error }, 'cannot update the routes to pods of other nodes');
          pauseMs = backoff.nextMs();
        }
        await clock.sleep(pauseMs, this.#wake.signal);
        // Collects changes of many nodes.
        await clock.sleep(minPauseMs, signal);
      }
    } finally {
      signal.removeEventListener('abort', changed);
      removeHandler();
    }
  }

  async #apply(all: readonly PodNode[]): Promise<NetworkPlan> {
    const { kernel, log, own, tunnel } = this.#options;
    const plan = planNetwork({ nodes: all, own: new Set(own), links: await kernel.links(), tunnel });
    await kernel.apply(plan);
    const problems = plan.problems.join('; ');
    if (problems !== this.#loggedProblems && problems !== '')
      log.warn({ problems }, 'pods of some nodes are unreachable');
    this.#loggedProblems = problems;
    return plan;
  }
}

/** Drops all other fields from the cache. */
function relevantFields({ apiVersion, kind, metadata, spec, status }: Node): Node {
  const { name, resourceVersion, uid } = metadata;
  return {
    ...(apiVersion === undefined ? {} : { apiVersion }),
    ...(kind === undefined ? {} : { kind }),
    metadata: { ...(name && { name }), ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) },
    spec: { ...(spec.podCIDRs && { podCIDRs: spec.podCIDRs }) },
    status: { ...(status?.addresses && { addresses: status.addresses }) },
  };
}

function isDifferent(node: Node, old: Node): boolean {
  return JSON.stringify(podNode(node)) !== JSON.stringify(podNode(old));
}

function podNode({ metadata, spec, status }: Node): PodNode {
  const addresses = status?.addresses ?? [];
  return {
    name: metadata.name ?? '',
    podCIDRs: spec.podCIDRs ?? [],
    addresses: addresses.filter(({ type }) => type === 'InternalIP').map(({ address }) => address),
  };
}
