import { milliValue } from '#apimachinery/quantity.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import type { NodeRefusal, RefusalGroup, Shortage } from '#scheduler/explain/explanation.js';

const examples = 5;

/** Nodes by what refused them. */
export class RefusalGroups {
  readonly #groups = new Map<string, { first: NodeRefusal; nodes: string[]; count: number; least: number }>();

  add(refusal: NodeRefusal): void {
    const key = JSON.stringify([refusal.plugin, refusal.reasons]);
    const lack = lackOf(refusal.shortages);
    const group = this.#groups.get(key);
    if (group === undefined) {
      this.#groups.set(key, { first: refusal, nodes: [refusal.node], count: 1, least: lack });
      return;
    }
    group.count++;
    if (group.nodes.length < examples) group.nodes.push(refusal.node);
    if (lack < group.least) {
      group.least = lack;
      group.first = refusal;
      group.nodes = [refusal.node, ...group.nodes.filter((node) => node !== refusal.node)].slice(0, examples);
    }
  }

  /** The most frequent first. */
  list(): RefusalGroup[] {
    return [...this.#groups.values()]
      .sort((a, b) => b.count - a.count)
      .map(({ count, first: { plugin, reasons, shortages }, nodes }) => ({
        plugin,
        reasons,
        nodes: count,
        examples: nodes,
        ...(shortages === undefined ? {} : { shortages }),
      }));
  }
}

export function refusalOf(pod: PodInfo, node: NodeInfo, { plugin, rejection }: Refusal): NodeRefusal {
  const shortages = plugin === 'NodeResourcesFit' ? shortagesOf(pod, node, rejection.reasons) : undefined;
  return {
    node: node.name,
    plugin,
    reasons: rejection.reasons,
    ...(shortages === undefined ? {} : { shortages }),
    resolvable: rejection.unresolvable !== true,
  };
}

function shortagesOf(pod: PodInfo, node: NodeInfo, reasons: readonly string[]): Shortage[] {
  return reasons.map((reason) => shortageOf(pod, node, lackingResource(reason)));
}

/** The resource that the reason is about; `pods` for their number. */
export function lackingResource(reason: string): string {
  return reason === 'Too many pods' ? 'pods' : reason.replace(/^Insufficient /, '');
}

export interface Amounts {
  readonly asked: number;
  readonly free: number;
  readonly of: number;
}

/** CPU in thousandths of a core. */
export function amountsOn({ requests }: PodInfo, node: NodeInfo, resource: string): Amounts {
  const { allocatable, maxPods, pods, requested } = node;
  const amounts = (asked: number, of: number, taken: number) => ({ asked, free: of - taken, of });
  switch (resource) {
    case 'pods':
      return amounts(1, maxPods, pods.size);
    case 'cpu':
      return amounts(requests.milliCpu, allocatable.milliCpu, requested.milliCpu);
    case 'memory':
      return amounts(requests.memory, allocatable.memory, requested.memory);
    case 'ephemeral-storage':
      return amounts(requests.ephemeralStorage, allocatable.ephemeralStorage, requested.ephemeralStorage);
    default: {
      const of = (all: typeof requests) => all.scalars?.get(resource) ?? 0;
      return amounts(of(requests), of(allocatable), of(requested));
    }
  }
}

function shortageOf(pod: PodInfo, node: NodeInfo, resource: string): Shortage {
  const { asked, free, of } = amountsOn(pod, node, resource);
  const shown = (amount: number) => quantity(resource, amount);
  return { resource, asked: shown(asked), free: shown(free), of: shown(of) };
}

/** The amount as a quantity of the API. */
export function quantity(resource: string, amount: number): string {
  return resource === 'cpu' && amount % 1000 !== 0 ? `${amount}m` : String(resource === 'cpu' ? amount / 1000 : amount);
}

function lackOf(shortages: readonly Shortage[] | undefined): number {
  let most = 0;
  for (const { asked, free } of shortages ?? []) {
    const [a, f] = [Number(milliValue(asked)), Number(milliValue(free))];
    most = Math.max(most, a === 0 ? 0 : (a - f) / a);
  }
  return most;
}
