/** Fills aggregated cluster roles with the rules of the selected roles. */
import { clusterroles } from '#api/rbac/v1/resources.gen.js';
import type { ClusterRole, PolicyRule } from '#api/rbac/v1/types.gen.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { keyOf } from '#apimachinery/object-key.js';
import { selectorFromObject } from '#apimachinery/selectors/labels.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';

/** The field manager in 1.24. */
const fieldManager = 'clusterrole-aggregation-controller';
const concurrency = 5;

export class ClusterRoleAggregationController implements Controller {
  readonly name = 'clusterrole-aggregation';
  readonly #context: ControllerContext;
  readonly #roles: Informer<ClusterRole>;
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#roles = sharedInformer(context.informers, clusterroles);
    this.#loop = new ReconcileLoop(context, {
      name: 'ClusterRoleAggregator',
      concurrency,
      reconcile: (name) => this.#reconcile(name),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    // Any role can be part of any aggregated role.
    const addAll = () => {
      for (const role of this.#roles.list()) {
        if (role.aggregationRule !== undefined) this.#loop.queue.add(keyOf(role));
      }
    };
    await this.#loop.run(signal, [this.#roles.addHandler({ onAdd: addAll, onUpdate: addAll, onDelete: addAll })]);
  }

  async #reconcile(name: string): Promise<Outcome> {
    const role = this.#roles.get(name);
    if (role?.aggregationRule === undefined) return done;
    const rules = aggregateRules(role, this.#roles.list());
    if (semanticEqual(role.rules, rules)) return done;
    const { client, dialect } = this.#context;
    const apiVersion = dialect.apiVersion(clusterroles.group, clusterroles.version);
    // As in 1.24, an empty list is omitted, so that the role keeps rules of other managers.
    const applied = { apiVersion, kind: clusterroles.kind, metadata: { name }, ...(rules.length > 0 ? { rules } : {}) };
    await client.resource(clusterroles).patch(name, applied, { type: 'apply', fieldManager, force: true });
    return done;
  }
}

/** The rules of all selected roles, sorted by role name, without duplicates. Pure. */
function aggregateRules(role: ClusterRole, roles: readonly ClusterRole[]): PolicyRule[] {
  const result: PolicyRule[] = [];
  const seen = new Set<string>();
  for (const selectorObject of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const selector = selectorFromObject(selectorObject);
    const parts = roles
      .filter((part) => part.metadata.name !== role.metadata.name && selector.matches(part.metadata.labels))
      .sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
    for (const rule of parts.flatMap((part) => part.rules ?? [])) {
      const id = JSON.stringify(rule);
      if (seen.has(id)) continue;
      seen.add(id);
      result.push(rule);
    }
  }
  return result;
}
