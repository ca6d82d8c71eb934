/** What one pod adds to the table of policies: its addresses in sets, and what it may send and take. Pure. */
import { createHash } from 'node:crypto';
import type { Pod } from '#api/core/v1/types.gen.js';

import type { Contribution, NftChain, NftElement } from '#proxy/nft/table.js';
import type { CompiledPolicy, NamedPort } from '#proxy/policies/compile.js';
import type { Direction } from '#proxy/policies/frame.js';
import { type Labels, type SelectedPod, type Selection, selectionSet } from '#proxy/policies/selection.js';
import { addressesOf } from '#proxy/services/addresses.js';
import { familyName } from '#proxy/services/chains.js';
import { families } from '#proxy/services/view.js';

export interface PolicyContext {
  readonly policies: readonly CompiledPolicy[];
  /** Those of all policies, each once. */
  readonly selections: readonly Selection[];
  readonly nodeNames: ReadonlySet<string>;
  readonly namespaceLabels: (namespace: string) => Labels;
}

/** Undefined for pods that have no addresses of their own (any more). */
export function planPod(pod: Pod, context: PolicyContext): Contribution | undefined {
  const { metadata, spec, status } = pod;
  const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  if (isOver || spec.hostNetwork === true) return undefined;
  const ips = status?.podIPs?.map(({ ip }) => ip) ?? [];
  if (ips.length === 0) return undefined;
  const namespace = metadata.namespace ?? '';
  const selected: SelectedPod = {
    namespace,
    labels: metadata.labels ?? {},
    namespaceLabels: context.namespaceLabels(namespace),
  };
  const elements: NftElement[] = [];
  const chains = new Map<string, NftChain>();
  for (const family of families) {
    for (const address of addressesOf(family, ips)) {
      for (const selection of context.selections) {
        if (!selection.matches(selected)) continue;
        const set = selectionSet(selection, family).name;
        for (const key of selectedKeys(pod, address, selection)) elements.push({ set, key, data: '' });
      }
    }
  }
  if (context.nodeNames.has(spec.nodeName ?? '')) {
    const policies = context.policies.filter(({ selects }) => selects(selected));
    for (const direction of ['ingress', 'egress'] as const) {
      const rules = directionRules(direction, policies, namedPortOf(pod));
      if (rules === undefined) continue;
      const [first, ...others] = isolation(direction, rules);
      for (const chain of [first, ...others]) chains.set(chain.name, chain);
      for (const family of families) {
        for (const address of addressesOf(family, ips))
          elements.push({ set: familyName(direction, family), key: address, data: `goto ${first.name}` });
      }
    }
    if (chains.size > 0) {
      for (const family of families) {
        for (const address of addressesOf(family, ips))
          elements.push({ set: familyName('themselves', family), key: `${address} . ${address}`, data: '' });
      }
    }
  }
  return { elements, chains: [...chains.values()] };
}

/** The rules of each policy about it; undefined: none is, and everything may pass. */
function directionRules(
  direction: Direction,
  policies: readonly CompiledPolicy[],
  named: NamedPort,
): (readonly string[])[] | undefined {
  const rules = policies.flatMap(({ egress, ingress }) => {
    const own = direction === 'egress' ? egress : ingress?.(named);
    return own === undefined ? [] : [own];
  });
  return rules.length === 0 ? undefined : rules;
}

/** The pod's chain, and those of its policies: pods with the same ones share all of them. */
function isolation(direction: Direction, policies: readonly (readonly string[])[]): [NftChain, ...NftChain[]] {
  const ruled = policies.filter((rules) => rules.length > 0);
  const chains = ruled.map((rules): NftChain => ({ name: `${direction}-policy-${digest(rules)}`, rules }));
  const names = [...new Set(chains.map(({ name }) => name))].sort();
  const rules = [...names.map((name) => `jump ${name}`), 'drop'];
  return [{ name: `${direction}-pod-${digest(rules)}`, rules }, ...chains];
}

function digest(rules: readonly string[]): string {
  return createHash('sha256').update(rules.join('\n')).digest('hex').slice(0, 16);
}

function selectedKeys(pod: Pod, address: string, { port }: Selection): string[] {
  if (port === undefined) return [address];
  const number = namedPortOf(pod)(port.name, port.protocol);
  return number === undefined ? [] : [`${address} . ${port.protocol.toLowerCase()} . ${number}`];
}

function namedPortOf({ spec }: Pod): NamedPort {
  return (name, protocol) => {
    for (const { ports = [] } of spec.containers) {
      const found = ports.find((port) => port.name === name && (port.protocol ?? 'TCP') === protocol);
      if (found !== undefined) return found.containerPort;
    }
    return undefined;
  };
}
