/**
 * Compares the recorded numbers with those that the Services hold: records held numbers, and frees recorded ones without an
 * owner. It frees a number only if it had no owner at two passes in a row, since a Service may be written between them.
 * Numbers that two Services hold, or that no range contains, cannot be repaired and are reported by events.
 */
import { services } from '#api/core/v1/resources.gen.js';
import type { Service } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import type { IpRange } from '#apiserver/allocators/ip-range.js';
import type { NodePortRange } from '#apiserver/allocators/node-port-range.js';
import type { RangeRegistry } from '#apiserver/allocators/range-registry.js';
import type { ServiceAllocatorOptions } from '#apiserver/allocators/service-allocator.js';
import { heldIPs, heldPorts } from '#apiserver/allocators/service-fields.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { Logger } from '#daemon/log/logger.js';

export interface RangeRepairOptions extends ServiceAllocatorOptions {
  readonly reader: ObjectReader;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called for each finding at each pass; the receiver joins equal events. */
  readonly report: (finding: RangeFinding) => void;
  /** Time between passes; 3 minutes as in 1.24. */
  readonly intervalMs?: number;
}

const defaultIntervalMs = 3 * 60_000;

interface RangeRecord {
  readonly size: number;
  has(offset: number): boolean;
}

export class RangeRepair {
  readonly #options: RangeRepairOptions;
  /** Numbers without an owner at the last pass. */
  readonly #suspects = new Map<RangeRegistry, ReadonlySet<number>>();

  constructor(options: RangeRepairOptions) {
    this.#options = options;
  }

  /** Runs passes at intervals until the signal aborts, the first one at once. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, intervalMs = defaultIntervalMs } = this.#options;
    while (!signal.aborted) {
      try {
        await this.pass();
      } catch (err) {
        if (!signal.aborted) log.warn({ err }, 'could not compare Services with the allocated numbers');
      }
      await clock.sleep(intervalMs, signal);
    }
  }

  async pass(): Promise<void> {
    const { reader, ips, nodePorts } = this.#options;
    // Read the record first, so that a Service written in between is in both, or in neither.
    const records = await Promise.all([...ips, nodePorts].map(({ registry }) => registry.snapshot()));
    const all: readonly Service[] = await reader.list(services, '', 'latest');
    for (const [i, { range, registry }] of ips.entries()) {
      const numbers = { at: (offset: number) => range.at(offset), words: addressWords(range) };
      await this.#settle(registry, records[i], heldAddresses(all, range), numbers);
    }
    const { range, registry } = nodePorts;
    const numbers = { at: (offset: number) => range.at(offset), words: portWords(range) };
    await this.#settle(registry, records[ips.length], heldNodePorts(all, range), numbers);
  }

  async #settle(
    registry: RangeRegistry,
    record: RangeRecord | undefined,
    { holders, findings }: HeldNumbers,
    { at, words }: { readonly at: (offset: number) => string | number; readonly words: NumberWords },
  ): Promise<void> {
    if (record === undefined) return;
    const { log, report } = this.#options;
    for (const finding of findings) report(finding);
    for (const [offset, service] of holders) {
      if (record.has(offset) || !(await registry.take(offset))) continue;
      log.warn({ number: at(offset), name: service.metadata.name }, 'recorded a number that a Service holds');
      report({ service, ...words.unrecorded(at(offset)) });
    }
    const unowned = unownedNumbers(record, holders);
    const suspects = this.#suspects.get(registry);
    const certain = unowned.filter((offset) => suspects?.has(offset) === true);
    this.#suspects.set(registry, new Set(unowned.filter((offset) => suspects?.has(offset) !== true)));
    if (certain.length === 0) return;
    await registry.free(certain);
    log.info({ count: certain.length }, 'freed numbers that no Service holds');
  }
}

/** Recorded numbers that no Service holds. */
function unownedNumbers(record: RangeRecord, holders: ReadonlyMap<number, Service>): number[] {
  const leaked: number[] = [];
  for (let offset = 0; offset < record.size; offset += 1)
    if (record.has(offset) && !holders.has(offset)) leaked.push(offset);
  return leaked;
}

/** A Service that an administrator must check. */
export interface RangeFinding {
  readonly service: Service;
  /** For example `ClusterIPAlreadyAllocated`. */
  readonly reason: string;
  readonly message: string;
}

/** The numbers that Services hold in one range. */
export interface HeldNumbers {
  /** The first Service that holds each number, by offset. */
  readonly holders: ReadonlyMap<number, Service>;
  /** Numbers that two Services hold, or that are outside the range. */
  readonly findings: readonly RangeFinding[];
}

export interface NumberWords {
  readonly duplicate: (text: string | number) => Omit<RangeFinding, 'service'>;
  readonly outside: (text: string | number) => Omit<RangeFinding, 'service'>;
  readonly unrecorded: (text: string | number) => Omit<RangeFinding, 'service'>;
}

function examine<N extends string | number>(
  services: readonly Service[],
  heldBy: (service: Service) => readonly N[],
  offsetOf: (held: N) => number | undefined,
  words: NumberWords,
): HeldNumbers {
  const holders = new Map<number, Service>();
  const findings: RangeFinding[] = [];
  for (const service of services) {
    for (const held of heldBy(service)) {
      const offset = offsetOf(held);
      if (offset === undefined) findings.push({ service, ...words.outside(held) });
      else if (holders.has(offset)) findings.push({ service, ...words.duplicate(held) });
      else holders.set(offset, service);
    }
  }
  return { holders, findings };
}

function addressWords(range: IpRange): NumberWords {
  const name = (ip: string | number) => `Cluster IP [${range.family}]:${ip}`;
  return {
    duplicate: (ip) => ({
      reason: 'ClusterIPAlreadyAllocated',
      message: `${name(ip)} was assigned to multiple services; please recreate service`,
    }),
    outside: (ip) => ({
      reason: 'ClusterIPOutOfRange',
      message: `${name(ip)} is not within the service CIDR ${range.cidr}; please recreate service`,
    }),
    unrecorded: (ip) => ({ reason: 'ClusterIPNotAllocated', message: `${name(ip)} is not allocated; repairing` }),
  };
}

function portWords(range: NodePortRange): NumberWords {
  return {
    duplicate: (port) => ({
      reason: 'PortAlreadyAllocated',
      message: `Port ${port} was assigned to multiple services; please recreate service`,
    }),
    outside: (port) => ({
      reason: 'PortOutOfRange',
      message: `Port ${port} is not within the port range ${range.first}-${range.last}; please recreate service`,
    }),
    unrecorded: (port) => ({ reason: 'PortNotAllocated', message: `Port ${port} is not allocated; repairing` }),
  };
}

/** The addresses of the range's family that Services hold. */
export function heldAddresses(services: readonly Service[], range: IpRange): HeldNumbers {
  const version = range.family === 'IPv4' ? 4 : 6;
  return examine(
    services,
    (service) => heldIPs(service).filter((ip) => ipFamily(ip) === version),
    (ip) => range.offsetOf(ip),
    addressWords(range),
  );
}

/** The node ports that Services hold. A Service may use one port for several protocols. */
export function heldNodePorts(services: readonly Service[], range: NodePortRange): HeldNumbers {
  return examine(services, heldPorts, (port) => range.offsetOf(port), portWords(range));
}
