/** Which resources quotas count, and how. */
import type { ResourceList } from '#api/core/v1/pod/resources.js';
import type { PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import { storageClassOf } from '#api/core/v1/volume/storage-class.js';
import type { Dialect, GroupKey } from '#apimachinery/dialect.js';
import { compareQuantities, roundUpToWhole } from '#apimachinery/quantity.js';
import type { QuotaEvaluator } from '#quota/evaluator.js';
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

const objectCount = 'count/persistentvolumeclaims';
const claimCount = 'persistentvolumeclaims';
const storage = 'requests.storage';

/** What persistent volume claims use of quotas: of all storage, and of that of their class. */
function claimEvaluator(dialect: Dialect): QuotaEvaluator {
  // `gold.storageclass.storage.…/requests.storage`
  const ofClass = `.storageclass.${dialect.groupName('storage')}/`;
  const suffixes = [`${ofClass}${claimCount}`, `${ofClass}${storage}`];
  return {
    scoped: false,
    counts: (name) =>
      name === objectCount ||
      name === claimCount ||
      name === storage ||
      suffixes.some((suffix) => name.endsWith(suffix)),
    usage: (object) => {
      const claim = object as PersistentVolumeClaim;
      const counted: ResourceList = { [claimCount]: '1' };
      const requested = storageOf(claim);
      if (requested !== undefined) counted[storage] = requested;
      const name = storageClassOf(claim, dialect);
      if (name === '') return { [objectCount]: '1', ...counted };
      const inClass = Object.entries(counted).map(([what, amount]) => [`${name}${ofClass}${what}`, amount]);
      return { [objectCount]: '1', ...counted, ...Object.fromEntries(inClass) };
    },
    isWithin: () => false,
    missing: () => undefined,
    mayUseMore: () => true,
  };
}

/**
 * Whole bytes, which is all that quotas take. What a claim has asked for and got before it asked for less still
 * counts.
 */
function storageOf({ spec, status }: PersistentVolumeClaim): string | undefined {
  const requested = spec.resources?.requests?.['storage'];
  if (requested === undefined) return undefined;
  const allocated = status?.allocatedResources?.['storage'];
  const larger = allocated !== undefined && compareQuantities(allocated, requested) > 0 ? allocated : requested;
  return roundUpToWhole(larger);
}

/** `count/jobs.batch`, `count/secrets`; `group` is the name on the wire, empty for core. */
function objectCountName(group: string, resource: string): string {
  return group === '' ? `count/${resource}` : `count/${resource}.${group}`;
}

/** `names`: all names of the count, the older one of 1.24 among them where there is one. */
function objectCountEvaluator(names: readonly string[]): QuotaEvaluator {
  const usage = Object.freeze(Object.fromEntries(names.map((name) => [name, '1'])));
  return {
    scoped: false,
    counts: (name) => names.includes(name),
    usage: () => usage,
    isWithin: () => false,
    missing: () => undefined,
    mayUseMore: () => false,
  };
}
