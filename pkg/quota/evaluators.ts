/** The evaluator of each resource, and those of claims, services and plain object counts. */
import type { ResourceList } from '#api/core/v1/pod/resources.js';
import type { PersistentVolumeClaim, Service } from '#api/core/v1/types.gen.js';
import { storageClassOf } from '#api/core/v1/volume/storage-class.js';
import type { Dialect, GroupKey } from '#apimachinery/dialect.js';
import { compareQuantities, roundUpToWhole } from '#apimachinery/quantity.js';
import type { QuotaEvaluator } from '#quota/evaluator.js';
import { podEvaluator } from '#quota/pods.js';

/** Core resources that are also counted under their plain name. */
const plainNames = ['configmaps', 'replicationcontrollers', 'resourcequotas', 'secrets'];

/** Resources that are never counted, by group: events, and resources that are not stored. */
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

/** Evaluators by resource, created on first use because custom resources come and go. */
export class QuotaEvaluators {
  readonly #dialect: Dialect;
  readonly #evaluators = new Map<string, QuotaEvaluator | undefined>();

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** `resource` must be namespaced. Undefined if quotas never count its objects. */
  of(group: GroupKey, resource: string): QuotaEvaluator | undefined {
    const id = `${group}/${resource}`;
    if (this.#evaluators.has(id)) return this.#evaluators.get(id);
    const evaluator = this.#make(group, resource);
    this.#evaluators.set(id, evaluator);
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

const claimObjectCount = 'count/persistentvolumeclaims';
const claimCount = 'persistentvolumeclaims';
const storage = 'requests.storage';

/** Counts claims and their storage, in total and per storage class. */
function claimEvaluator(dialect: Dialect): QuotaEvaluator {
  // `gold.storageclass.storage.…/requests.storage`
  const ofClass = `.storageclass.${dialect.groupName('storage')}/`;
  const suffixes = [`${ofClass}${claimCount}`, `${ofClass}${storage}`];
  return {
    scoped: false,
    counts: (name) =>
      name === claimObjectCount ||
      name === claimCount ||
      name === storage ||
      suffixes.some((suffix) => name.endsWith(suffix)),
    usage: (object) => {
      const claim = object as PersistentVolumeClaim;
      const counted: ResourceList = { [claimCount]: '1' };
      const requested = storageOf(claim);
      if (requested !== undefined) counted[storage] = requested;
      const name = storageClassOf(claim, dialect);
      if (name === '') return { [claimObjectCount]: '1', ...counted };
      const inClass = Object.entries(counted).map(([what, amount]) => [`${name}${ofClass}${what}`, amount]);
      return { [claimObjectCount]: '1', ...counted, ...Object.fromEntries(inClass) };
    },
    isWithin: () => false,
    missing: () => undefined,
    mayUseMore: () => true,
  };
}

/** In whole bytes, as quotas require. After a claim's request was lowered, the larger allocated amount still counts. */
function storageOf({ spec, status }: PersistentVolumeClaim): string | undefined {
  const requested = spec.resources?.requests?.['storage'];
  if (requested === undefined) return undefined;
  const allocated = status?.allocatedResources?.['storage'];
  const larger = allocated !== undefined && compareQuantities(allocated, requested) > 0 ? allocated : requested;
  return roundUpToWhole(larger);
}

/** For example `count/jobs.batch` and `count/secrets`; `group` is empty for core. */
function objectCountName(group: string, resource: string): string {
  return group === '' ? `count/${resource}` : `count/${resource}.${group}`;
}

/** `names` has the count's name and, if 1.24 has one, its older alias. */
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

const serviceNames = new Set(['count/services', 'services', 'services.nodeports', 'services.loadbalancers']);

const serviceEvaluator: QuotaEvaluator = {
  scoped: false,
  counts: (name) => serviceNames.has(name),
  usage: (object) => {
    const service = object as Service;
    return {
      'count/services': '1',
      services: '1',
      'services.nodeports': String(nodePortsOf(service)),
      'services.loadbalancers': service.spec?.type === 'LoadBalancer' ? '1' : '0',
    };
  },
  isWithin: () => false,
  missing: () => undefined,
  mayUseMore: () => true,
};

/** The node ports that the service needs, allocated or not yet. */
function nodePortsOf({ spec }: Service): number {
  const ports = spec?.ports ?? [];
  if (spec?.type === 'NodePort') return ports.length;
  if (spec?.type !== 'LoadBalancer') return 0;
  if (spec.allocateLoadBalancerNodePorts !== false) return ports.length;
  return ports.filter(({ nodePort = 0 }) => nodePort !== 0).length;
}
