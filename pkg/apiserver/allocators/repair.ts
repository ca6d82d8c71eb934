/**
 * Compares what is recorded as taken with what the Services hold: takes what is held but not recorded, and gives back
 * what is recorded but not held. The latter only when it was so at two passes in a row, for a Service may be between
 * taking and being written.
 */
import { services } from '#api/core/v1/resources.gen.js';
import type { Service } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { RangeRegistry } from '#apiserver/allocators/range-registry.js';
import type { ServiceAllocatorOptions } from '#apiserver/allocators/service-allocator.js';
import { heldIPs, heldPorts } from '#apiserver/allocators/service-fields.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { Logger } from '#daemon/log/logger.js';

export interface RangeRepairOptions extends ServiceAllocatorOptions {
  readonly reader: ObjectReader;
  readonly clock: Clock;
  readonly log: Logger;
  /** Between passes; 3 minutes in 1.24. */
  readonly intervalMs?: number;
}

const defaultIntervalMs = 3 * 60_000;

/** What one pass found for one range. */
export interface RangeDifference {
  /** Held by a Service, but not recorded. */
  readonly missing: readonly number[];
  /** Recorded, but held by no Service. */
  readonly leaked: readonly number[];
}

export class RangeRepair {
  readonly #options: RangeRepairOptions;
  /** What had no owner at the last pass. */
  readonly #suspects = new Map<RangeRegistry, ReadonlySet<number>>();

  constructor(options: RangeRepairOptions) {
    this.#options = options;
  }

  /** Passes at intervals until the signal aborts. The first one at once. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, intervalMs = defaultIntervalMs } = this.#options;
    while (!signal.aborted) {
      try {
        await this.pass();
      } catch (err) {
        if (!signal.aborted) log.warn({ err }, 'Could not compare Services with the ranges');
      }
      await clock.sleep(intervalMs, signal);
    }
  }

  async pass(): Promise<void> {
    const { reader, ips, nodePorts } = this.#options;
    // The record first: a Service that is written in between is then held and recorded, or not looked at yet.
    const records = await Promise.all([...ips, nodePorts].map(({ registry }) => registry.snapshot()));
    const all: readonly Service[] = await reader.list(services, '', 'latest');
    const addresses = all.flatMap(heldIPs);
    for (const [i, { range, registry }] of ips.entries())
      await this.#settle(
        registry,
        records[i],
        addresses.map((ip) => range.offsetOf(ip)),
      );
    const ports = all.flatMap(heldPorts).map((port) => nodePorts.range.offsetOf(port));
    await this.#settle(nodePorts.registry, records[ips.length], ports);
  }

  async #settle(
    registry: RangeRegistry,
    record: { readonly size: number; has(offset: number): boolean } | undefined,
    offsets: readonly (number | undefined)[],
  ): Promise<void> {
    if (record === undefined) return;
    const held = new Set(offsets.filter((offset) => offset !== undefined));
    const { missing, leaked } = difference(record, held);
    const { log } = this.#options;
    for (const offset of missing)
      if (await registry.take(offset)) log.warn({ offset }, 'A Service held an unrecorded number');
    const before = this.#suspects.get(registry);
    const certain = leaked.filter((offset) => before?.has(offset) === true);
    this.#suspects.set(registry, new Set(leaked.filter((offset) => before?.has(offset) !== true)));
    if (certain.length === 0) return;
    await registry.free(certain);
    log.info({ count: certain.length }, 'Gave back numbers that no Service held');
  }
}

export function difference(
  record: { readonly size: number; has(offset: number): boolean },
  held: ReadonlySet<number>,
): RangeDifference {
  const leaked: number[] = [];
  for (let offset = 0; offset < record.size; offset += 1)
    if (record.has(offset) && !held.has(offset)) leaked.push(offset);
  return { missing: [...held].filter((offset) => !record.has(offset)), leaked };
}
