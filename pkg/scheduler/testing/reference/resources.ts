import type { Node, Pod } from '#api/core/v1/types.gen.js';
import { milliValue, value } from '#apimachinery/quantity.js';
import { type Model, podsOn } from '#scheduler/testing/reference/model.js';

const amount = (name: string, quantity: string | undefined): number =>
  Number(name === 'cpu' ? milliValue(quantity ?? '0') : value(quantity ?? '0'));

/** What the pod asks for; `assume`: containers that say nothing of CPU or memory ask for some. */
function asks(pod: Pod, name: string, assume = false): number {
  const assumed = assume ? ({ cpu: 100, memory: 200 * 1024 * 1024 }[name] ?? 0) : 0;
  const of = (requests: Readonly<Record<string, string>> | undefined) =>
    requests?.[name] === undefined ? assumed : amount(name, requests[name]);
  const together = (pod.spec.containers ?? []).reduce((sum, each) => sum + of(each.resources?.requests), 0);
  const first = Math.max(0, ...(pod.spec.initContainers ?? []).map((each) => of(each.resources?.requests)));
  return Math.max(together, first) + amount(name, pod.spec.overhead?.[name]);
}

const has = (node: Node, name: string): number => amount(name, node.status?.allocatable?.[name]);

const taken = (model: Model, node: Node, name: string, assume = false): number =>
  podsOn(model, node).reduce((sum, pod) => sum + asks(pod, name, assume), 0);

export function lacking(model: Model, pod: Pod, node: Node): string[] {
  const reasons = podsOn(model, node).length + 1 > has(node, 'pods') ? ['Too many pods'] : [];
  const plain = ['cpu', 'memory', 'ephemeral-storage'];
  const extended = ['example.com/gpu'].filter((name) => asks(pod, name) > 0);
  if (extended.length === 0 && plain.every((name) => asks(pod, name) === 0)) return reasons;
  for (const name of [...plain, ...extended]) {
    if (asks(pod, name) > has(node, name) - taken(model, node, name)) reasons.push(`Insufficient ${name}`);
  }
  return reasons;
}

export function least(model: Model, pod: Pod, node: Node): number {
  const scores = ['cpu', 'memory'].flatMap((name) => {
    const capacity = has(node, name);
    const used = taken(model, node, name, true) + asks(pod, name, true);
    if (capacity === 0) return [];
    return [used > capacity ? 0 : Math.floor(((capacity - used) * 100) / capacity)];
  });
  return scores.length === 0 ? 0 : Math.floor(scores.reduce((a, b) => a + b, 0) / scores.length);
}

export function even(model: Model, pod: Pod, node: Node): number {
  const shares = ['cpu', 'memory'].flatMap((name) => {
    const capacity = has(node, name);
    return capacity === 0 ? [] : [Math.min(1, (taken(model, node, name) + asks(pod, name)) / capacity)];
  });
  const [a = 0, b = a] = shares;
  return Math.floor((1 - Math.abs(a - b) / 2) * 100);
}
