import { milliValue } from '#apimachinery/quantity.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import type { NodeRefusal, RefusalGroup, Shortage } from '#scheduler/explain/explanation.js';

const examples = 5;

/** Groups nodes by equal refusals. */
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

  /** The largest group first. */
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

/** The resource in a reason of NodeResourcesFit; `pods` for the pod count. */
export function lackingResource(reason: string): string {
  return reason === 'Too many pods' ? 'pods' : reason.replace(/^Insufficient /, '');
}

export interface Amounts {
  readonly requested: number;
  readonly free: number;
  readonly of: number;
}

/** CPU in thousandths of a core. */
export function amountsOn({ requests }: PodInfo, node: NodeInfo, resource: string): Amounts {
  const { allocatable, maxPods, pods, requested } = node;
  const amounts = (requested: number, of: number, used: number) => ({ requested, free: of - used, of });
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
      const scalar = (all: typeof requests) => all.scalars?.get(resource) ?? 0;
      return amounts(scalar(requests), scalar(allocatable), scalar(requested));
    }
  }
}

function shortageOf(pod: PodInfo, node: NodeInfo, resource: string): Shortage {
  const { requested, free, of } = amountsOn(pod, node, resource);
  const format = (amount: number) => quantity(resource, amount);
  return { resource, requested: format(requested), free: format(free), of: format(of) };
}

/** The amount as an API quantity. */
export function quantity(resource: string, amount: number): string {
  return resource === 'cpu' && amount % 1000 !== 0 ? `${amount}m` : String(resource === 'cpu' ? amount / 1000 : amount);
}

function lackOf(shortages: readonly Shortage[] | undefined): number {
  let most = 0;
  for (const { requested, free } of shortages ?? []) {
    const [a, f] = [Number(milliValue(requested)), Number(milliValue(free))];
    most = Math.max(most, a === 0 ? 0 : (a - f) / a);
  }
  return most;
}
