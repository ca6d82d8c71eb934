/** Compiles a network policy to allowances and selections. Pure. */
import type { NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '#api/networking/v1/types.gen.js';
import { parseCIDR } from '#apimachinery/net/ip.js';
import { selectorFromObject } from '#apimachinery/selectors/labels.js';
import type { Allowance, Peer, PortRange } from '#proxy/policies/model.js';
import { type SelectedPod, type Selection, selectionOf } from '#proxy/policies/selection.js';

/** Resolves a container port's name; undefined if the pod has no such port. */
export type NamedPort = (name: string, protocol: string) => number | undefined;

export interface CompiledPolicy {
  /** `namespace/name`. */
  readonly key: string;
  readonly selects: (pod: SelectedPod) => boolean;
  readonly selections: readonly Selection[];
  /** Allowances for a pod, whose port names are resolved; undefined: the policy does not restrict ingress. */
  readonly ingress: ((ports: NamedPort) => readonly Allowance[]) | undefined;
  readonly egress: readonly Allowance[] | undefined;
  /** Why the policy blocks all traffic; undefined if it was compiled completely. */
  readonly problem: string | undefined;
}

/** Limit of combinations of peers and ports; each becomes a kernel rule. */
const maxCombinations = 20_000;

/** Throws for an invalid selector. */
export function compilePolicy({ metadata, spec }: NetworkPolicy): CompiledPolicy {
  const { name = '', namespace = '' } = metadata;
  const selector = selectorFromObject(spec?.podSelector ?? {});
  const selections = new Map<string, Selection>();
  const types = spec?.policyTypes ?? ['Ingress', ...((spec?.egress ?? []).length > 0 ? ['Egress'] : [])];
  const combinations = combinationsOf(spec);
  const isTooLarge = combinations > maxCombinations;
  const compile = new RuleCompiler(namespace, selections);
  const ingress = ((!isTooLarge && spec?.ingress) || []).map(({ from = [], ports = [] }) => ({
    peers: compile.peers(from),
    ports,
  }));
  const egress = ((!isTooLarge && spec?.egress) || []).flatMap(({ ports = [], to = [] }) => compile.egress(to, ports));
  return {
    key: `${namespace}/${name}`,
    selects: (pod) => pod.namespace === namespace && selector.matches(pod.labels),
    selections: [...selections.values()],
    ingress: types.includes('Ingress')
      ? (named) => ingress.flatMap(({ peers, ports }) => combined(peers, portRanges(ports, named)))
      : undefined,
    egress: types.includes('Egress') ? egress : undefined,
    problem: isTooLarge
      ? `it has ${combinations} combinations of peers and ports, and ${maxCombinations} are the most`
      : undefined,
  };
}

function combinationsOf(spec: NetworkPolicy['spec']): number {
  const count = (peers: readonly unknown[] = [], ports: readonly unknown[] = []) =>
    Math.max(1, peers.length) * Math.max(1, ports.length);
  const counts = [
    ...(spec?.ingress ?? []).map(({ from, ports }) => count(from, ports)),
    ...(spec?.egress ?? []).map(({ ports, to }) => count(to, ports)),
  ];
  return counts.reduce((sum, each) => sum + each, 0);
}

class RuleCompiler {
  readonly #namespace: string;
  readonly #selections: Map<string, Selection>;

  constructor(namespace: string, selections: Map<string, Selection>) {
    this.#namespace = namespace;
    this.#selections = selections;
  }

  /** An empty list allows every peer. */
  peers(peers: readonly NetworkPolicyPeer[]): (Peer | undefined)[] {
    if (peers.length === 0) return [undefined];
    return peers.flatMap(({ ipBlock, namespaceSelector, podSelector }): Peer[] => {
      if (ipBlock !== undefined) return blockPeer(ipBlock.cidr, ipBlock.except ?? []);
      return [{ selection: this.#select({ namespaceSelector, podSelector }) }];
    });
  }

  /** A port name may have another number in each destination pod. */
  egress(to: readonly NetworkPolicyPeer[], ports: readonly NetworkPolicyPort[]): Allowance[] {
    const named = ports.filter(({ port }) => typeof port === 'string');
    const numbered = ports.filter(({ port }) => typeof port !== 'string');
    const allowed: Allowance[] = [];
    if (numbered.length > 0 || ports.length === 0) {
      allowed.push(
        ...combined(
          this.peers(to),
          portRanges(numbered, () => undefined),
        ),
      );
    }
    const allPods: NetworkPolicyPeer = { namespaceSelector: {} };
    for (const { port, protocol = 'TCP' } of named) {
      for (const { ipBlock, namespaceSelector, podSelector } of to.length === 0 ? [allPods] : to) {
        // Addresses outside the cluster have no named ports.
        if (ipBlock !== undefined) continue;
        const selection = this.#select({ namespaceSelector, podSelector, port: { name: String(port), protocol } });
        allowed.push({ peer: { selection }, ports: undefined });
      }
    }
    return allowed;
  }

  #select(source: Omit<Parameters<typeof selectionOf>[0], 'namespace'>): Selection {
    const selection = selectionOf({ ...source, namespace: this.#namespace });
    this.#selections.set(selection.id, selection);
    return selection;
  }
}

function combined(peers: readonly (Peer | undefined)[], ports: readonly (PortRange | undefined)[]): Allowance[] {
  return peers.flatMap((peer) => ports.map((each) => ({ peer, ports: each })));
}

function blockPeer(cidr: string, except: readonly string[]): Peer[] {
  const block = parseCIDR(cidr);
  if (block === undefined) return [];
  const inner = except.flatMap((range) => parseCIDR(range) ?? []);
  return [{ block, except: inner.filter(({ family }) => family === block.family) }];
}

/** An empty list allows every port. */
function portRanges(ports: readonly NetworkPolicyPort[], named: NamedPort): (PortRange | undefined)[] {
  if (ports.length === 0) return [undefined];
  return ports.flatMap(({ endPort, port, protocol = 'TCP' }): PortRange[] => {
    const transport = protocol.toLowerCase();
    if (port === undefined) return [{ transport, numbers: undefined }];
    const first = typeof port === 'number' ? port : named(port, protocol);
    // A pod without the named port receives no traffic for it.
    if (first === undefined) return [];
    return [{ transport, numbers: { first, last: Math.max(first, endPort ?? first) } }];
  });
}
