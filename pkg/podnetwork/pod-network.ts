/**
 * Connects the pods of this machine with those of other nodes: follows the nodes, and keeps routes and tunnels for them.
 * They stay when it ends, so that traffic goes on while it is started again.
 */
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { aborted } from '#apimachinery/async/aborted.js';
import { Backoff } from '#apimachinery/backoff/backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import type { InformerFactory } from '#client/informer/informer.js';
import type { Daemon } from '#daemon/daemon.js';
import { Lifetime } from '#daemon/lifetime.js';
import type { Logger } from '#daemon/log/logger.js';
import type { KernelNetwork } from '#podnetwork/kernel.js';
import { type NetworkPlan, type PodNode, planNetwork } from '#podnetwork/plan.js';

export interface PodNetworkOptions {
  /** Started and ended by the caller. */
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  /** Names of the nodes that this machine is. */
  readonly own: readonly string[];
  readonly kernel: Pick<KernelNetwork, 'links' | 'apply'>;
  /** Name of the tunnel's interface. */
  readonly tunnel: string;
}

const minPauseMs = 100;
/** Interfaces come and go without a word, and take routes with them. */
const lookMs = 30_000;
const lookAloneMs = 3_600_000;

export class PodNetwork implements Daemon {
  readonly name = 'pod-network';
  readonly #options: PodNetworkOptions;
  readonly #life = new Lifetime('the network of pods');
  /** Ends the pause. */
  #wake = new AbortController();
  #told = '';

  constructor(options: PodNetworkOptions) {
    this.#options = options;
  }

  start(signal: AbortSignal): Promise<void> {
    return this.#life.run(signal, (stopping) => this.#run(stopping));
  }

  /** All nodes that were known at the start are reached. */
  ready(): Promise<void> {
    return this.#life.ready();
  }

  close(): Promise<void> {
    return this.#life.close();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, informers, log, random } = this.#options;
    const known = informers.informer(nodes, { transform: essence });
    const changed = () => this.#wake.abort();
    signal.addEventListener('abort', changed, { once: true });
    const removeHandler = known.addHandler({
      onAdd: changed,
      onUpdate: (node, old) => {
        if (isOtherwise(node, old)) changed();
      },
      onDelete: changed,
    });
    const backoff = new Backoff({ initialMs: 500, maxMs: lookMs, jitter: 0.2, random });
    try {
      // With less than all of them the routes of the rest would be taken away.
      await Promise.race([known.whenSynced(), aborted(signal)]);
      while (!signal.aborted) {
        this.#wake = new AbortController();
        let pauseMs = lookMs;
        try {
          const { routes } = await this.#apply(known.list().map(podNode));
          // A machine that is alone has nothing to lose.
          if (routes.length === 0) pauseMs = lookAloneMs;
          this.#life.becameReady();
          backoff.reset();
        } catch (error) {
          log.error({ err: error }, 'The way to the pods of other nodes cannot be kept');
          pauseMs = backoff.nextMs();
        }
        await clock.sleep(pauseMs, this.#wake.signal);
        // Many nodes may come at once.
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
    if (problems !== this.#told && problems !== '') log.warn({ problems }, 'Pods of some nodes cannot be reached');
    this.#told = problems;
    return plan;
  }
}

/** Nodes say much of themselves, of which little counts here. */
function essence({ apiVersion, kind, metadata, spec, status }: Node): Node {
  const { name, resourceVersion, uid } = metadata;
  return {
    ...(apiVersion === undefined ? {} : { apiVersion }),
    ...(kind === undefined ? {} : { kind }),
    metadata: { ...(name && { name }), ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) },
    spec: { ...(spec.podCIDRs && { podCIDRs: spec.podCIDRs }) },
    status: { ...(status?.addresses && { addresses: status.addresses }) },
  };
}

function isOtherwise(node: Node, old: Node): boolean {
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
