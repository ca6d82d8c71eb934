/** A network policy as rules of nft and the selections that they name. Pure. */
import type { NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '#api/networking/v1/types.gen.js';
import { parseCIDR } from '#apimachinery/net/ip.js';
import { selectorFromObject } from '#apimachinery/selectors/labels.js';
import { type Direction, header } from '#proxy/policies/frame.js';
import { type SelectedPod, type Selection, selectionOf, selectionSet } from '#proxy/policies/selection.js';
import { rangeText } from '#proxy/services/source-ranges.js';
import { families } from '#proxy/services/view.js';

/** Port number of a container port by its name; undefined: the pod has none. */
export type NamedPort = (name: string, protocol: string) => number | undefined;

export interface CompiledPolicy {
  /** `namespace/name`. */
  readonly key: string;
  readonly selects: (pod: SelectedPod) => boolean;
  readonly selections: readonly Selection[];
  /** Rules for what a pod may take, whose own ports names mean; undefined: the policy is not about that. */
  readonly ingress: ((ports: NamedPort) => readonly string[]) | undefined;
  readonly egress: readonly string[] | undefined;
}

/** Throws for a policy with a selector that is none. */
export function compilePolicy({ metadata, spec }: NetworkPolicy): CompiledPolicy {
  const { name = '', namespace = '' } = metadata;
  const selector = selectorFromObject(spec?.podSelector ?? {});
  const selections = new Map<string, Selection>();
  const types = spec?.policyTypes ?? ['Ingress', ...((spec?.egress ?? []).length > 0 ? ['Egress'] : [])];
  const compile = new RuleCompiler(namespace, selections);
  const ingress = (spec?.ingress ?? []).map(({ from = [], ports = [] }) => ({
    peers: compile.peers(from, 'ingress'),
    ports,
  }));
  const egress = (spec?.egress ?? []).flatMap(({ ports = [], to = [] }) => compile.egressRules(to, ports));
  return {
    key: `${namespace}/${name}`,
    selects: (pod) => pod.namespace === namespace && selector.matches(pod.labels),
    selections: [...selections.values()],
    ingress: types.includes('Ingress')
      ? (named) => ingress.flatMap(({ peers, ports }) => combined(peers, portMatches(ports, named)))
      : undefined,
    egress: types.includes('Egress') ? egress : undefined,
  };
}

class RuleCompiler {
  readonly #namespace: string;
  readonly #selections: Map<string, Selection>;

  constructor(namespace: string, selections: Map<string, Selection>) {
    this.#namespace = namespace;
    this.#selections = selections;
  }

  /** Texts that match one of the peers; one empty text without any: everybody. */
  peers(peers: readonly NetworkPolicyPeer[], direction: Direction): string[] {
    if (peers.length === 0) return [''];
    const side = direction === 'ingress' ? 'saddr' : 'daddr';
    return peers.flatMap(({ ipBlock, namespaceSelector, podSelector }) => {
      if (ipBlock !== undefined) return blockMatch(ipBlock.cidr, ipBlock.except ?? [], side);
      const selection = this.#select({ namespaceSelector, podSelector });
      return families.map((family) => `${header(family)} ${side} @${selectionSet(selection, family).name}`);
    });
  }

  /** A port's name means another number in each pod that traffic goes to. */
  egressRules(to: readonly NetworkPolicyPeer[], ports: readonly NetworkPolicyPort[]): string[] {
    const named = ports.filter(({ port }) => typeof port === 'string');
    const numbered = ports.filter(({ port }) => typeof port !== 'string');
    const rules: string[] = [];
    if (numbered.length > 0 || ports.length === 0) {
      rules.push(
        ...combined(
          this.peers(to, 'egress'),
          portMatches(numbered, () => undefined),
        ),
      );
    }
    const everybody: NetworkPolicyPeer = { namespaceSelector: {} };
    for (const { port, protocol = 'TCP' } of named) {
      for (const { ipBlock, namespaceSelector, podSelector } of to.length === 0 ? [everybody] : to) {
        // Addresses outside of the cluster have no named ports.
        if (ipBlock !== undefined) continue;
        const selection = this.#select({ namespaceSelector, podSelector, port: { name: String(port), protocol } });
        for (const family of families) {
          const { name } = selectionSet(selection, family);
          rules.push(`${header(family)} daddr . meta l4proto . th dport @${name} accept`);
        }
      }
    }
    return rules;
  }

  #select(source: Omit<Parameters<typeof selectionOf>[0], 'namespace'>): Selection {
    const selection = selectionOf({ ...source, namespace: this.#namespace });
    this.#selections.set(selection.id, selection);
    return selection;
  }
}

function combined(peers: readonly string[], ports: readonly string[]): string[] {
  return peers.flatMap((peer) => ports.map((port) => [peer, port, 'accept'].filter((part) => part !== '').join(' ')));
}

function blockMatch(cidr: string, except: readonly string[], side: 'saddr' | 'daddr'): string[] {
  const block = parseCIDR(cidr);
  if (block === undefined) return [];
  const ip = block.family === 4 ? 'ip' : 'ip6';
  const texts = except.flatMap((range) => {
    const inner = parseCIDR(range);
    return inner === undefined || inner.family !== block.family ? [] : [rangeText(inner)];
  });
  // Also where the block is everything, it is of one family.
  const within = `${ip} ${side} ${rangeText(block)}`;
  return [texts.length === 0 ? within : [within, ...texts.map((range) => `${ip} ${side} != ${range}`)].join(' ')];
}

/** Texts that match one of the ports; one empty text without any: every port. */
function portMatches(ports: readonly NetworkPolicyPort[], named: NamedPort): string[] {
  if (ports.length === 0) return [''];
  return ports.flatMap(({ endPort, port, protocol = 'TCP' }) => {
    const transport = protocol.toLowerCase();
    if (port === undefined) return [`meta l4proto ${transport}`];
    const number = typeof port === 'number' ? port : named(port, protocol);
    // A pod without such a port takes nothing there.
    if (number === undefined) return [];
    return [`${transport} dport ${endPort === undefined || endPort <= number ? number : `${number}-${endPort}`}`];
  });
}
