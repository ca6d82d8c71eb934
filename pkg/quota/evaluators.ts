/** Which resources quotas count, and how. */

import type { Dialect, GroupKey } from '#apimachinery/dialect.js';
import { claimEvaluator } from '#quota/claims.js';
import type { QuotaEvaluator } from '#quota/evaluator.js';
import { objectCountEvaluator, objectCountName } from '#quota/object-counts.js';
import { podEvaluator } from '#quota/pods.js';
import { serviceEvaluator } from '#quota/services.js';

/** Resources of the core group that are counted under their plain name, too. */
const plainNames = ['configmaps', 'replicationcontrollers', 'resourcequotas', 'secrets'];

/** What is not stored, and events, which come and go by themselves. By group. */
const uncounted: Partial<Record<GroupKey, readonly string[]>> = {
  core: ['bindings', 'componentstatuses', 'events'],
  events: ['events'],
  authentication: ['tokenreviews'],
  authorization: [
    'localsubjectaccessreviews',
    'selfsubjectaccessreviews',
    'selfsubjectrulesreviews',
    'subjectaccessreviews',
  ],
};

/** Evaluators by resource, made when they are first asked for: custom resources come and go. */
export class QuotaEvaluators {
  readonly #dialect: Dialect;
  readonly #known = new Map<string, QuotaEvaluator | undefined>();

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** `resource` is a namespaced one. Undefined where quotas never count its objects. */
  of(group: GroupKey, resource: string): QuotaEvaluator | undefined {
    const id = `${group}/${resource}`;
    if (this.#known.has(id)) return this.#known.get(id);
    const evaluator = this.#make(group, resource);
    this.#known.set(id, evaluator);
    return evaluator;
  }

  #make(group: GroupKey, resource: string): QuotaEvaluator | undefined {
    if (uncounted[group]?.includes(resource) === true) return undefined;
    if (group === 'core') {
      if (resource === 'pods') return podEvaluator(this.#dialect);
      if (resource === 'services') return serviceEvaluator;
      if (resource === 'persistentvolumeclaims') return claimEvaluator(this.#dialect);
    }
    const count = objectCountName(this.#dialect.groupName(group), resource);
    const plain = group === 'core' && plainNames.includes(resource);
    return objectCountEvaluator(plain ? [count, resource] : [count]);
  }
}
