/** Names of resources and where each may be used. */
import type { Dialect } from '#apimachinery/dialect.js';
import { isQuantity, parseQuantity } from '#apimachinery/quantity.js';
import { qualifiedNameErrors } from '#apimachinery/validation/names.js';

const standardContainer = new Set(['cpu', 'memory', 'ephemeral-storage']);

const standard = new Set([
  'cpu',
  'memory',
  'ephemeral-storage',
  'storage',
  'requests.cpu',
  'requests.memory',
  'requests.ephemeral-storage',
  'requests.storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  'pods',
  'resourcequotas',
  'services',
  'services.nodeports',
  'services.loadbalancers',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
]);

/** Counted in whole objects or units. */
const wholeNumbers = new Set([
  'pods',
  'resourcequotas',
  'services',
  'services.nodeports',
  'services.loadbalancers',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
]);

const hugePagesPrefix = 'hugepages-';

export function isHugePages(name: string): boolean {
  return name.startsWith(hugePagesPrefix);
}

/** Whether the amount of `hugepages-<size>` is a multiple of that size; false for an invalid size. */
export function isDivisibleHugePages(name: string, quantity: string): boolean {
  const size = name.slice(hugePagesPrefix.length);
  if (!isQuantity(size)) return false;
  const whole = 1_000_000_000n;
  const { nanos } = parseQuantity(size);
  return nanos > 0n && nanos % whole === 0n && parseQuantity(quantity).nanos % nanos === 0n;
}

/** A name without domain that quotas may limit. Plain storage is not requested by any object. */
export function isStandardQuotaResource(name: string): boolean {
  return name !== 'storage' && isStandardResource(name);
}

/** A name that needs no domain. */
export function isStandardResource(name: string): boolean {
  return standard.has(name) || isHugePages(name) || name.startsWith('requests.hugepages-');
}

/** A name without domain that containers may request. */
export function isStandardContainerResource(name: string): boolean {
  return standardContainer.has(name) || isHugePages(name);
}

/** A name without domain, or in the system's own. */
export function isNativeResource(name: string, dialect: Dialect): boolean {
  return !name.includes('/') || name.includes(`${dialect.labelDomain}/`);
}

/** A resource of a third party, such as a device: integral, and never overcommitted. */
export function isExtendedResource(name: string, dialect: Dialect): boolean {
  if (isNativeResource(name, dialect) || name.startsWith('requests.')) return false;
  return qualifiedNameErrors(`requests.${name}`).length === 0;
}

/** Must be a whole number. */
export function isIntegerResource(name: string, dialect: Dialect): boolean {
  return wholeNumbers.has(name) || isExtendedResource(name, dialect);
}

/** Requests may be lower than limits. */
export function isOvercommitAllowed(name: string, dialect: Dialect): boolean {
  return isNativeResource(name, dialect) && !isHugePages(name);
}
