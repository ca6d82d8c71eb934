/** Follows network policies, pods and namespaces, and plans their kernel rules. */
import { namespaces, pods } from '#api/core/v1/resources.gen.js';
import type { Namespace, Pod } from '#api/core/v1/types.gen.js';
import { networkpolicies } from '#api/networking/v1/resources.gen.js';
import type { NetworkPolicy } from '#api/networking/v1/types.gen.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer, InformerFactory } from '#client/informer/informer.js';
import type { Logger } from '#daemon/log/logger.js';
import type { RuleSource, RuleState } from '#proxy/loop/rule-loop.js';
import { type CompiledPolicy, compilePolicy, type NamedPort } from '#proxy/policies/compile.js';
import {
  type Allowance,
  type Direction,
  directions,
  type Membership,
  type PodPlan,
  type PolicyTable,
} from '#proxy/policies/model.js';
import type { Labels, SelectedPod, Selection } from '#proxy/policies/selection.js';
import { addressesOf } from '#proxy/services/addresses.js';
import { families } from '#proxy/services/proxy-settings.js';

export interface PolicyRulesOptions<Listing, Commands> {
  readonly informers: InformerFactory;
  readonly table: PolicyTable<Listing, Commands>;
  readonly nodeNames: ReadonlySet<string>;
  readonly log: Logger;
}

export class PolicyRules<Listing, Commands> implements RuleSource<Listing, Commands> {
  readonly state: RuleState<Listing, Commands>;
  readonly #options: PolicyRulesOptions<Listing, Commands>;
  readonly #policies: Informer<NetworkPolicy>;
  readonly #pods: Informer<Pod>;
  readonly #namespaces: Informer<Namespace>;
  readonly #dirtyPods = new Set<string>();
  /** A policy or a namespace's labels changed: plan every pod again. */
  #isAllDirty = true;
  #context: PolicyContext;

  constructor(options: PolicyRulesOptions<Listing, Commands>) {
    const { informers, nodeNames, table } = options;
    this.#options = options;
    this.state = table.state;
    this.#policies = informers.informer(networkpolicies);
    this.#pods = informers.informer(pods, { transform: keepForPolicies });
    this.#namespaces = informers.informer(namespaces);
    this.#context = {
      policies: [],
      selections: [],
      nodeNames,
      namespaceLabels: (name) => this.#namespaces.get(name)?.metadata.labels ?? {},
    };
  }

  async whenSynced(): Promise<void> {
    await Promise.all([this.#policies.whenSynced(), this.#pods.whenSynced(), this.#namespaces.whenSynced()]);
  }

  follow(changed: () => void): () => void {
    const all = () => {
      this.#isAllDirty = true;
      changed();
    };
    const pod = (object: Pod) => {
      this.#dirtyPods.add(keyOf(object));
      // Without policies pods do not matter.
      if (this.#policies.size > 0) changed();
    };
    const sameLabels = (a: Namespace, b: Namespace) =>
      JSON.stringify(a.metadata.labels) === JSON.stringify(b.metadata.labels);
    const ends = [
      this.#policies.addHandler({ onAdd: all, onUpdate: all, onDelete: all }),
      this.#pods.addHandler({ onAdd: pod, onUpdate: pod, onDelete: pod }),
      this.#namespaces.addHandler({
        onAdd: () => this.#policies.size > 0 && all(),
        onUpdate: (now, old) => !sameLabels(now, old) && this.#policies.size > 0 && all(),
        onDelete: () => undefined,
      }),
    ];
    return () => {
      for (const end of ends) end();
    };
  }

  adopt(): void {
    // The kernel's rules carry no state to adopt.
  }

  async applied(): Promise<void> {
    // Established connections stay.
  }

  plan(): void {
    if (this.#isAllDirty) this.#planPolicies();
    for (const key of this.#dirtyPods) {
      const pod = this.#pods.get(key);
      const hasPolicies = this.#context.policies.length > 0;
      this.#options.table.contribute(key, pod === undefined || !hasPolicies ? undefined : planPod(pod, this.#context));
    }
    this.#dirtyPods.clear();
  }

  #planPolicies(): void {
    this.#isAllDirty = false;
    const compiled: CompiledPolicy[] = [];
    for (const policy of this.#policies.list()) {
      try {
        const each = compilePolicy(policy);
        compiled.push(each);
        if (each.problem !== undefined)
          this.#options.log.error({ policy: each.key, problem: each.problem }, 'network policy blocks all traffic');
      } catch (error) {
        // An invalid selector leaves unknown which pods it selects, so the whole policy is skipped.
        this.#options.log.error({ err: error, policy: keyOf(policy) }, 'cannot enforce a network policy');
      }
    }
    const selections = new Map<string, Selection>();
    for (const policy of compiled) for (const each of policy.selections) selections.set(each.id, each);
    this.#context = { ...this.#context, policies: compiled, selections: [...selections.values()] };
    this.#options.table.select(this.#context.selections);
    for (const pod of this.#pods.list()) this.#dirtyPods.add(keyOf(pod));
  }
}

/** Keeps only what policies use: each node caches the pods of the whole cluster. */
function keepForPolicies({ metadata, spec, status }: Pod): Pod {
  const { labels, name, namespace, resourceVersion, uid } = metadata;
  return {
    metadata: { name, namespace, uid, resourceVersion, ...(labels === undefined ? {} : { labels }) } as Pod['metadata'],
    spec: {
      ...(spec.nodeName === undefined ? {} : { nodeName: spec.nodeName }),
      ...(spec.hostNetwork === true ? { hostNetwork: true } : {}),
      containers: spec.containers.flatMap(({ name: container, ports = [] }) => {
        const named =
          (ports as typeof ports | null)?.filter((port) => port.name !== undefined && port.name !== '') ?? [];
        return named.length === 0 ? [] : [{ name: container, ports: named }];
      }),
    },
    status: {
      ...(status?.phase === undefined ? {} : { phase: status.phase }),
      ...(status?.podIPs === undefined ? {} : { podIPs: status.podIPs }),
    },
  };
}

export interface PolicyContext {
  readonly policies: readonly CompiledPolicy[];
  /** Selections of all policies, each once. */
  readonly selections: readonly Selection[];
  readonly nodeNames: ReadonlySet<string>;
  readonly namespaceLabels: (namespace: string) => Labels;
}

/**
 * How policies concern a pod: its memberships in selections, and its allowances. Pure. Undefined for pods without an
 * address of their own.
 */
export function planPod(pod: Pod, context: PolicyContext): PodPlan | undefined {
  const { metadata, spec, status } = pod;
  const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  if (isOver || spec.hostNetwork === true) return undefined;
  const ips = status?.podIPs?.map(({ ip }) => ip) ?? [];
  const addresses = families.flatMap((family) => addressesOf(family, ips).map((address) => ({ family, address })));
  if (addresses.length === 0) return undefined;
  const namespace = metadata.namespace ?? '';
  const selected: SelectedPod = {
    namespace,
    labels: metadata.labels ?? {},
    namespaceLabels: context.namespaceLabels(namespace),
  };
  const named = namedPortOf(pod);
  const memberships = context.selections.flatMap((selection): Membership[] => {
    if (!selection.matches(selected)) return [];
    if (selection.port === undefined) return addresses.map((each) => ({ ...each, selection, port: undefined }));
    const { name, protocol } = selection.port;
    const number = named(name, protocol);
    if (number === undefined) return [];
    return addresses.map((each) => ({ ...each, selection, port: { transport: protocol.toLowerCase(), number } }));
  });
  const isHere = context.nodeNames.has(spec.nodeName ?? '');
  const policies = isHere ? context.policies.filter(({ selects }) => selects(selected)) : [];
  const isolated: Partial<Record<Direction, readonly (readonly Allowance[])[]>> = {};
  for (const direction of directions) {
    const allowed = policies.flatMap(({ egress, ingress }) => {
      const own = direction === 'egress' ? egress : ingress?.(named);
      return own === undefined ? [] : [own];
    });
    if (allowed.length > 0) isolated[direction] = allowed;
  }
  return { addresses, memberships, isolated };
}

function namedPortOf({ spec }: Pod): NamedPort {
  return (name, protocol) => {
    for (const { ports = [] } of spec.containers) {
      const match = ports.find((port) => port.name === name && (port.protocol ?? 'TCP') === protocol);
      if (match !== undefined) return match.containerPort;
    }
    return undefined;
  };
}
