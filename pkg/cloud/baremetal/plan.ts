/**
 * Which addresses a service gets. Pure.
 *
 * No address is ever given twice, whoever asks at the same time and however old what they know is. The services'
 * own objects are all the state there is, and an address is taken in two steps:
 *
 * 1. The service claims it: its annotation names the address.
 * 2. A cache that shows the claim shows all that came before it. When no other claim of the address is there either, it
 *    is published: the service's status shows it, provided that the service is still the version that was looked at.
 *
 * Of two claims the later one is published by somebody who sees the earlier, and so it is not. When both are seen before
 * either is published, the younger service gives way, and the older one waits until it has.
 */
import type { Service } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { canonicalAddress, ipFamily } from '#apimachinery/net/ip.js';
import { type Held, heldBy } from '#cloud/baremetal/held.js';
import { freeAddress, type Pool, poolHolds } from '#cloud/baremetal/pools.js';

export type AddressPlan =
  /** Its annotation is to name these, empty for none; then it is asked again. */
  | { readonly kind: 'claim'; readonly addresses: readonly string[] }
  | { readonly kind: 'publish'; readonly addresses: readonly string[] }
  /** Another service claims the same address, and is to give way. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'refuse'; readonly message: string };

export interface Surroundings {
  readonly dialect: Dialect;
  readonly pools: readonly Pool[];
  /** Services that hold the address, as `heldBy` says; may include the service itself. */
  readonly holders: (address: string) => readonly Service[];
  /** Services of the namespace with that sharing key; may include the service itself. */
  readonly sharers: (namespace: string, key: string) => readonly Service[];
}

/** What others have to do with an address: nothing, or it is theirs, or they will give way. */
type Rivalry = 'none' | 'lost' | 'contested';

type Choice = { readonly address: string; readonly rivalry: Rivalry } | { readonly problem: string; fatal?: boolean };

export function planAddresses(service: Service, around: Surroundings): AddressPlan {
  const held = heldBy(around.dialect, service);
  const choices = familiesOf(service).map((family) => choose(service, held, family, around));
  const problems = choices.flatMap((choice) => ('problem' in choice ? [choice] : []));
  const chosen = choices.flatMap((choice) => ('problem' in choice ? [] : [choice]));
  const all = service.spec.ipFamilyPolicy === 'RequireDualStack';
  const [problem] = problems;
  if (problem !== undefined && (all || chosen.length === 0 || problems.some(({ fatal }) => fatal === true))) {
    // What it cannot have, it must not keep from others.
    const kept = held.claimed.filter((address) => held.published.includes(address));
    if (kept.length < held.claimed.length) return { kind: 'claim', addresses: kept };
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

function choose(service: Service, held: Held, family: 4 | 6, around: Surroundings): Choice {
  const { dialect, pools } = around;
  const namespace = service.metadata.namespace ?? '';
  const wanted = service.spec.loadBalancerIP ?? '';
  const fixed = canonicalAddress(wanted);
  const rivalry = (address: string) => rivalryAbout(service, held, address, around);
  if (wanted !== '' && !familiesOf(service).some((each) => each === ipFamily(wanted))) {
    return { problem: `loadBalancerIP "${wanted}" is no address of a family of the service`, fatal: true };
  }
  if (fixed !== undefined && ipFamily(fixed) === family) {
    if (!mayKeep(service, held, fixed, around)) {
      return { problem: `loadBalancerIP "${wanted}" is in no pool that the service may use`, fatal: true };
    }
    const found = rivalry(fixed);
    if (found === 'lost') return { problem: `loadBalancerIP "${wanted}" is in use`, fatal: true };
    return { address: fixed, rivalry: found };
  }
  for (const address of [...held.claimed, ...held.published]) {
    if (ipFamily(address) !== family || !mayKeep(service, held, address, around)) continue;
    const found = rivalry(address);
    if (found !== 'lost') return { address, rivalry: found };
  }
  const name = service.metadata.annotations?.[dialect.annotations.loadBalancerPool];
  const usable = pools.filter((pool) => (name === undefined ? pool.autoAssign : pool.name === name));
  const allowed = usable.filter((pool) => isFor(pool, namespace));
  for (const address of sharedAddresses(service, around)) {
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
  if (name !== undefined && allowed.length === 0) return `the pool "${name}" is not for the namespace "${namespace}"`;
  const where = name === undefined ? 'no pool for it has' : `the pool "${name}" has not`;
  return `${where} a free IPv${family} address`;
}

const isFor = ({ namespaces }: Pool, namespace: string): boolean => namespaces?.has(namespace) ?? true;

/** Whether the address is of a pool that the service may use. What it is reached at it keeps, whatever became of the pool. */
function mayKeep(service: Service, held: Held, address: string, { dialect, pools }: Surroundings): boolean {
  const name = service.metadata.annotations?.[dialect.annotations.loadBalancerPool];
  if (name === undefined && held.published.includes(address)) return true;
  return pools.some(
    (pool) =>
      (name === undefined || pool.name === name) &&
      isFor(pool, service.metadata.namespace ?? '') &&
      poolHolds(pool, address),
  );
}

function rivalryAbout(service: Service, held: Held, address: string, around: Surroundings): Rivalry {
  let worst: Rivalry = 'none';
  for (const other of around.holders(address)) {
    if (other.metadata.uid === service.metadata.uid || mayShare(service, other, around.dialect)) continue;
    const found = rivalryWith(other, { service, held, address, around });
    if (found === 'lost') return found;
    if (found === 'contested') worst = found;
  }
  return worst;
}

interface Question {
  readonly service: Service;
  readonly held: Held;
  readonly address: string;
  readonly around: Surroundings;
}

function rivalryWith(other: Service, { service, held, address, around }: Question): Rivalry {
  const theirs = heldBy(around.dialect, other);
  const isMine = held.published.includes(address);
  if (theirs.published.includes(address)) {
    // Nothing here makes it so, but hands can: the older one keeps it.
    return isMine && isOlder(service, other) ? 'none' : 'lost';
  }
  // Users can claim what they like; only what they could be given is in the way of others.
  if (isMine || !mayKeep(other, theirs, address, around)) return 'none';
  return held.claimed.includes(address) && isOlder(service, other) ? 'contested' : 'lost';
}

function isOlder({ metadata: a }: Service, { metadata: b }: Service): boolean {
  const [ours, theirs] = [a.creationTimestamp ?? '', b.creationTimestamp ?? ''];
  return ours === theirs ? (a.uid ?? '') < (b.uid ?? '') : ours < theirs;
}

/** Addresses of services that it may share with. */
function sharedAddresses(service: Service, { dialect, sharers }: Surroundings): string[] {
  const key = service.metadata.annotations?.[dialect.annotations.loadBalancerSharing] ?? '';
  if (key === '') return [];
  return sharers(service.metadata.namespace ?? '', key)
    .filter((other) => other.metadata.uid !== service.metadata.uid && mayShare(service, other, dialect))
    .flatMap((other) => {
      const { claimed, published } = heldBy(dialect, other);
      return [...published, ...claimed];
    });
}

/** Of one namespace, with one key, on different ports, and both with endpoints on any node. */
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
