/** Follows network policies, pods and namespaces, and says what is to be in the kernel's rules for them. */
import { namespaces, pods } from '#api/core/v1/resources.gen.js';
import type { Namespace, Pod } from '#api/core/v1/types.gen.js';
import { networkpolicies } from '#api/networking/v1/resources.gen.js';
import type { NetworkPolicy } from '#api/networking/v1/types.gen.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer, InformerFactory } from '#client/informer/informer.js';
import type { Logger } from '#daemon/log/logger.js';
import type { RuleSource, RuleState } from '#proxy/loop/rule-loop.js';
import { type CompiledPolicy, compilePolicy } from '#proxy/policies/compile.js';
import { type PolicyContext, planPod } from '#proxy/policies/pod-plan.js';
import type { PolicyTable } from '#proxy/policies/policy-table.js';
import type { Selection } from '#proxy/policies/selection.js';

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
  /** A policy, or the labels of a namespace, have changed: every pod is looked at again. */
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
      // Without policies nothing depends on pods.
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
    // Nothing is remembered in the kernel.
  }

  async applied(): Promise<void> {
    // Connections that are there may stay.
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
          this.#options.log.error({ policy: each.key }, `A network policy lets nothing through: ${each.problem}`);
      } catch (error) {
        // Whoever wrote it meant to keep something out: what it selects is not known, so nothing of it holds.
        this.#options.log.error({ err: error, policy: keyOf(policy) }, 'A network policy cannot be enforced');
      }
    }
    const selections = new Map<string, Selection>();
    for (const policy of compiled) for (const each of policy.selections) selections.set(each.id, each);
    this.#context = { ...this.#context, policies: compiled, selections: [...selections.values()] };
    this.#options.table.select(this.#context.selections);
    for (const pod of this.#pods.list()) this.#dirtyPods.add(keyOf(pod));
  }
}

/** What policies look at, of a pod: each node keeps those of the whole cluster. */
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
