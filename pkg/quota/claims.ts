/** What persistent volume claims use of quotas: of all storage, and of that of their class. */
import type { ResourceList } from '#api/core/v1/pod/resources.js';
import type { PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import { storageClassOf } from '#api/core/v1/volume/storage-class.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { compareQuantities, roundUpToWhole } from '#apimachinery/quantity.js';
import type { QuotaEvaluator } from '#quota/evaluator.js';

const objectCount = 'count/persistentvolumeclaims';
const claimCount = 'persistentvolumeclaims';
const storage = 'requests.storage';

export function claimEvaluator(dialect: Dialect): QuotaEvaluator {
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

/** Whole bytes, which is all that quotas take. What a claim has asked for and got before it asked for less still counts. */
function storageOf({ spec, status }: PersistentVolumeClaim): string | undefined {
  const requested = spec.resources?.requests?.['storage'];
  if (requested === undefined) return undefined;
  const allocated = status?.allocatedResources?.['storage'];
  const larger = allocated !== undefined && compareQuantities(allocated, requested) > 0 ? allocated : requested;
  return roundUpToWhole(larger);
}
