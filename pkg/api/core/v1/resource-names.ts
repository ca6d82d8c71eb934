/** Names of resources, and where each may be used. */
import type { Dialect } from '#apimachinery/dialect.js';
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

export function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-');
}

/** A name that needs no domain. */
export function isStandardResource(name: string): boolean {
  return standard.has(name) || isHugePages(name) || name.startsWith('requests.hugepages-');
}

/** A name without domain that containers may ask for. */
export function isStandardContainerResource(name: string): boolean {
  return standardContainer.has(name) || isHugePages(name);
}

/** No domain, or the system's own. */
export function isNativeResource(name: string, dialect: Dialect): boolean {
  return !name.includes('/') || name.includes(`${dialect.labelDomain}/`);
}

/** Somebody else's resource, such as a device: integral, and never overcommitted. */
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
