/**
 * Chooses the addresses of a service. Pure.
 *
 * No address is allocated twice, even with concurrent allocators and stale caches. All state is in the services' own
 * objects, and allocation has two steps:
 *
 * 1. The service claims it: its annotation names the address.
 * 2. A cache that shows the claim shows all earlier claims. If none of them has the address, the address is published
 *    in the service's status, provided that the service's version has not changed.
 *
 * The allocator of the later of two claims sees the earlier one and does not publish. If both claims exist before
 * either is published, the younger service drops its claim and the older service waits for that.
 */
import type { Service } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { canonicalAddress, ipFamily } from '#apimachinery/net/ip.js';
import { freeAddress, type Pool, poolHolds } from '#cloud/baremetal/pools.js';
import { addressesOfService, type ServiceAddresses } from '#cloud/baremetal/service-addresses.js';

export type AddressPlan =
  /** Write these addresses to the annotation (none if empty), then plan again. */
  | { readonly kind: 'claim'; readonly addresses: readonly string[] }
  | { readonly kind: 'publish'; readonly addresses: readonly string[] }
  /** Another service claims the same address and must drop its claim first. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'refuse'; readonly message: string };

export interface Allocations {
  readonly dialect: Dialect;
  readonly pools: readonly Pool[];
  /** Services that claim or publish the address; may include the service itself. */
  readonly holders: (address: string) => readonly Service[];
  /** Services in the namespace with the sharing key; may include the service itself. */
  readonly sharers: (namespace: string, key: string) => readonly Service[];
}

/** Whether another service has the address: no, yes (`lost`), or it claims the address and must drop the claim. */
type Rivalry = 'none' | 'lost' | 'contested';

type Choice = { readonly address: string; readonly rivalry: Rivalry } | { readonly problem: string; fatal?: boolean };

export function planAddresses(service: Service, allocations: Allocations): AddressPlan {
  const held = addressesOfService(allocations.dialect, service);
  const choices = familiesOf(service).map((family) => choose(service, held, family, allocations));
  const problems = choices.flatMap((choice) => ('problem' in choice ? [choice] : []));
  const chosen = choices.flatMap((choice) => ('problem' in choice ? [] : [choice]));
  const all = service.spec.ipFamilyPolicy === 'RequireDualStack';
  const [problem] = problems;
  if (problem !== undefined && (all || chosen.length === 0 || problems.some(({ fatal }) => fatal === true))) {
    // Drop claims that cannot be published, so that other services can have the addresses.
    const usable = held.claimed.filter((address) => held.published.includes(address));
    if (usable.length < held.claimed.length) return { kind: 'claim', addresses: usable };
    return { kind: 'refuse', message: problem.problem };
  }
  const addresses = chosen.map(({ address }) => address);
  if (addresses.join() !== held.claimed.join()) return { kind: 'claim', addresses };
  return chosen.some(({ rivalry }) => rivalry === 'contested') ? { kind: 'wait' } : { kind: 'publish', addresses };
}

function familiesOf({ spec }: Service): (4 | 6)[] {
  const families = spec.ipFamilies ?? [];
  return families.length === 0 ? [4] : families.map((family) => (family === 'IPv6' ? 6 : 4));
}

function choose(service: Service, held: ServiceAddresses, family: 4 | 6, allocations: Allocations): Choice {
  const { dialect, pools } = allocations;
  const namespace = service.metadata.namespace ?? '';
  const requested = service.spec.loadBalancerIP ?? '';
  const fixed = canonicalAddress(requested);
  const rivalry = (address: string) => rivalryAbout(service, held, address, allocations);
  if (requested !== '' && !familiesOf(service).some((each) => each === ipFamily(requested))) {
    return { problem: `loadBalancerIP "${requested}" is not of an IP family of the service`, fatal: true };
  }
  if (fixed !== undefined && ipFamily(fixed) === family) {
    if (!mayKeep(service, held, fixed, allocations)) {
      return { problem: `loadBalancerIP "${requested}" is not in a pool that the service may use`, fatal: true };
    }
    const contest = rivalry(fixed);
    if (contest === 'lost') return { problem: `loadBalancerIP "${requested}" is in use`, fatal: true };
    return { address: fixed, rivalry: contest };
  }
  for (const address of [...held.claimed, ...held.published]) {
    if (ipFamily(address) !== family || !mayKeep(service, held, address, allocations)) continue;
    const contest = rivalry(address);
    if (contest !== 'lost') return { address, rivalry: contest };
  }
  const name = service.metadata.annotations?.[dialect.annotations.loadBalancerPool];
  const usable = pools.filter((pool) => (name === undefined ? pool.autoAssign : pool.name === name));
  const allowed = usable.filter((pool) => isFor(pool, namespace));
  for (const address of sharedAddresses(service, allocations)) {
    const fits = ipFamily(address) === family && allowed.some((pool) => poolHolds(pool, address));
    if (fits && rivalry(address) === 'none') return { address, rivalry: 'none' };
  }
  for (const pool of allowed) {
    const address = freeAddress(pool, family, (each) => rivalry(each) !== 'none');
    if (address !== undefined) return { address, rivalry: 'none' };
  }
  return { problem: noAddress({ name, usable, allowed, namespace, family }) };
}

interface Search {
  readonly name: string | undefined;
  readonly usable: readonly Pool[];
  readonly allowed: readonly Pool[];
  readonly namespace: string;
  readonly family: 4 | 6;
}

function noAddress({ name, usable, allowed, namespace, family }: Search): string {
  if (name !== undefined && usable.length === 0) return `there is no pool "${name}"`;
  if (name !== undefined && allowed.length === 0) return `the namespace "${namespace}" may not use the pool "${name}"`;
  const where = name === undefined ? 'the pools that the service may use' : `the pool "${name}"`;
  return `no free IPv${family} address in ${where}`;
}

const isFor = ({ namespaces }: Pool, namespace: string): boolean => namespaces?.has(namespace) ?? true;

/** Whether a usable pool has the address. A service keeps a published address even if its pool changes later. */
function mayKeep(service: Service, held: ServiceAddresses, address: string, { dialect, pools }: Allocations): boolean {
  const name = service.metadata.annotations?.[dialect.annotations.loadBalancerPool];
  if (name === undefined && held.published.includes(address)) return true;
  return pools.some(
    (pool) =>
      (name === undefined || pool.name === name) &&
      isFor(pool, service.metadata.namespace ?? '') &&
      poolHolds(pool, address),
  );
}

function rivalryAbout(service: Service, held: ServiceAddresses, address: string, allocations: Allocations): Rivalry {
  let worst: Rivalry = 'none';
  for (const other of allocations.holders(address)) {
    if (other.metadata.uid === service.metadata.uid || mayShare(service, other, allocations.dialect)) continue;
    const rivalry = rivalryWith(other, { service, held, address, allocations });
    if (rivalry === 'lost') return rivalry;
    if (rivalry === 'contested') worst = rivalry;
  }
  return worst;
}

interface Contest {
  readonly service: Service;
  readonly held: ServiceAddresses;
  readonly address: string;
  readonly allocations: Allocations;
}

function rivalryWith(other: Service, { service, held, address, allocations }: Contest): Rivalry {
  const theirs = addressesOfService(allocations.dialect, other);
  const isMine = held.published.includes(address);
  if (theirs.published.includes(address)) {
    // Users can edit a status. The older service keeps the address.
    return isMine && isOlder(service, other) ? 'none' : 'lost';
  }
  // Users can write any claim. Ignore claims that could never be granted.
  if (isMine || !mayKeep(other, theirs, address, allocations)) return 'none';
  return held.claimed.includes(address) && isOlder(service, other) ? 'contested' : 'lost';
}

function isOlder({ metadata: a }: Service, { metadata: b }: Service): boolean {
  const [ours, theirs] = [a.creationTimestamp ?? '', b.creationTimestamp ?? ''];
  return ours === theirs ? (a.uid ?? '') < (b.uid ?? '') : ours < theirs;
}

/** Addresses of the services with which this service may share. */
function sharedAddresses(service: Service, { dialect, sharers }: Allocations): string[] {
  const key = service.metadata.annotations?.[dialect.annotations.loadBalancerSharing] ?? '';
  if (key === '') return [];
  return sharers(service.metadata.namespace ?? '', key)
    .filter((other) => other.metadata.uid !== service.metadata.uid && mayShare(service, other, dialect))
    .flatMap((other) => {
      const { claimed, published } = addressesOfService(dialect, other);
      return [...published, ...claimed];
    });
}

/** Services share an address within a namespace, with the same key, on different ports, and without policy `Local`. */
function mayShare(a: Service, b: Service, dialect: Dialect): boolean {
  const key = a.metadata.annotations?.[dialect.annotations.loadBalancerSharing] ?? '';
  if (key === '' || key !== b.metadata.annotations?.[dialect.annotations.loadBalancerSharing]) return false;
  if (a.metadata.namespace !== b.metadata.namespace) return false;
  if (a.spec.externalTrafficPolicy === 'Local' || b.spec.externalTrafficPolicy === 'Local') return false;
  const ports = new Set(portsOf(a));
  return !portsOf(b).some((port) => ports.has(port));
}

const portsOf = ({ spec }: Service): string[] =>
  (spec.ports ?? []).map(({ protocol = 'TCP', port }) => `${protocol} ${port}`);
