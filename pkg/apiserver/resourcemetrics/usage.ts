/** What is used now, from two measurements one after the other: as metrics-server 0.6 tells it. Pure. */
import { formatDuration } from '#apimachinery/duration.js';
import { canonicalQuantity, quantityFromValue } from '#apimachinery/quantity.js';
import type { Point, Reading } from '#apiserver/resourcemetrics/reading.js';

/** The last two measurements of one node. */
export interface Readings {
  readonly last: Reading;
  readonly previous?: Reading | undefined;
}

export interface Usage {
  /** End of the time in which it was measured. */
  readonly timestampMs: number;
  readonly windowMs: number;
  /** Billionths of a core. */
  readonly nanoCores: number;
  readonly memoryBytes: number;
}

/** A container that has run for less has used nothing that tells how it will go on. */
const leastAgeMs = 10_000;
/** All that a container has used since it began tells of now while it has not run for longer than that. */
const youngMs = 30_000;

/**
 * Undefined where two measurements are needed and there is one, and where they are of the same moment. A container that
 * began after the previous one, for the first time or again, has used all that it has since it began.
 */
export function usageOf(last: Point | undefined, previous: Point | undefined): Usage | undefined {
  if (last === undefined) return undefined;
  const { timestampMs, startedMs, memoryBytes } = last;
  const isFresh = startedMs > 0 && startedMs > (previous?.timestampMs ?? timestampMs - youngMs);
  const since = isFresh ? { timestampMs: startedMs, cpuSeconds: 0 } : previous;
  if (since === undefined) return undefined;
  const windowMs = timestampMs - since.timestampMs;
  const cpuSeconds = last.cpuSeconds - since.cpuSeconds;
  // A counter that goes back was begun anew without anybody saying so.
  if (windowMs <= 0 || cpuSeconds < 0 || (isFresh && windowMs < leastAgeMs)) return undefined;
  const nanoCores = Math.min(Math.round((cpuSeconds / windowMs) * 1e12), Number.MAX_SAFE_INTEGER);
  return { timestampMs, windowMs, nanoCores, memoryBytes };
}

export function nodeUsage({ last, previous }: Readings): Usage | undefined {
  return usageOf(last.node, previous?.node);
}

/**
 * By container. A pod has figures when all of its containers have: the sum of a part would be taken for the whole.
 * `key`: `namespace/pod`.
 */
export function podUsage({ last, previous }: Readings, key: string): ReadonlyMap<string, Usage> | undefined {
  const before = previous?.pods.get(key);
  const usages = new Map<string, Usage>();
  for (const [container, point] of last.pods.get(key) ?? []) {
    const usage = usageOf(point, before?.get(container));
    if (usage === undefined) return undefined;
    usages.set(container, usage);
  }
  return usages.size === 0 ? undefined : usages;
}

/** `usage` of the API. */
export function quantitiesOf({ nanoCores, memoryBytes }: Usage): { cpu: string; memory: string } {
  return { cpu: canonicalQuantity(`${nanoCores}n`), memory: quantityFromValue(Math.round(memoryBytes), 'BinarySI') };
}

/** `timestamp` and `window` of the API. */
export function momentOf({ timestampMs, windowMs }: Pick<Usage, 'timestampMs' | 'windowMs'>): {
  timestamp: string;
  window: string;
} {
  return {
    timestamp: new Date(timestampMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    window: formatDuration(windowMs),
  };
}
