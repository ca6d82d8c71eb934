/**
 * Compares what is recorded as taken with what the Services hold: takes what is held but not recorded, and gives back
 * what is recorded but not held. The latter only when it was so at two passes in a row, for a Service may be between
 * taking and being written. What nobody can repair, a number that two Services hold or that no range has, is told by an
 * event about the Service.
 */
import { services } from '#api/core/v1/resources.gen.js';
import type { Service } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { RangeRegistry } from '#apiserver/allocators/range-registry.js';
import {
  addressWords,
  type HeldNumbers,
  heldAddresses,
  heldNodePorts,
  type NumberWords,
  portWords,
  type RangeFinding,
} from '#apiserver/allocators/repair-findings.js';
import type { ServiceAllocatorOptions } from '#apiserver/allocators/service-allocator.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { Logger } from '#daemon/log/logger.js';

export interface RangeRepairOptions extends ServiceAllocatorOptions {
  readonly reader: ObjectReader;
  readonly clock: Clock;
  readonly log: Logger;
  /** Told of each finding at each pass; whoever makes events of them joins those that are the same. */
  readonly report: (finding: RangeFinding) => void;
  /** Between passes; 3 minutes in 1.24. */
  readonly intervalMs?: number;
}

const defaultIntervalMs = 3 * 60_000;

interface RangeRecord {
  readonly size: number;
  has(offset: number): boolean;
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
      log.warn({ number: at(offset), name: service.metadata.name }, 'A Service held an unrecorded number');
      report({ service, ...words.unrecorded(at(offset)) });
    }
    const leaked = leaks(record, holders);
    const before = this.#suspects.get(registry);
    const certain = leaked.filter((offset) => before?.has(offset) === true);
    this.#suspects.set(registry, new Set(leaked.filter((offset) => before?.has(offset) !== true)));
    if (certain.length === 0) return;
    await registry.free(certain);
    log.info({ count: certain.length }, 'Gave back numbers that no Service held');
  }
}

/** Recorded, but held by no Service. */
function leaks(record: RangeRecord, holders: ReadonlyMap<number, Service>): number[] {
  const leaked: number[] = [];
  for (let offset = 0; offset < record.size; offset += 1)
    if (record.has(offset) && !holders.has(offset)) leaked.push(offset);
  return leaked;
}
