/** Computes current usage from two consecutive measurements, like metrics-server 0.6. Pure. */
import { formatDuration } from '#apimachinery/duration.js';
import { canonicalQuantity, quantityFromValue } from '#apimachinery/quantity.js';
import type { Point, Reading } from '#apiserver/resourcemetrics/metrics-text.js';

/** The last two measurements of one node. */
export interface Readings {
  readonly last: Reading;
  readonly previous?: Reading | undefined;
}

export interface Usage {
  /** End of the window. */
  readonly timestampMs: number;
  readonly windowMs: number;
  /** Billionths of a core. */
  readonly nanoCores: number;
  readonly memoryBytes: number;
}

/** A younger container has no meaningful usage yet. */
const leastAgeMs = 10_000;
/** Up to this age, a container's usage since its start counts as current. */
const youngMs = 30_000;

/**
 * The usage between two measurements; undefined without a second one, or if both have the same time. For a container that
 * started after the previous measurement, the window begins at its start.
 */
export function usageOf(last: Point | undefined, previous: Point | undefined): Usage | undefined {
  if (last === undefined) return undefined;
  const { timestampMs, startedMs, memoryBytes } = last;
  const isFresh = startedMs > 0 && startedMs > (previous?.timestampMs ?? timestampMs - youngMs);
  const since = isFresh ? { timestampMs: startedMs, cpuSeconds: 0 } : previous;
  if (since === undefined) return undefined;
  const windowMs = timestampMs - since.timestampMs;
  const cpuSeconds = last.cpuSeconds - since.cpuSeconds;
  // A decreasing counter was reset.
  if (windowMs <= 0 || cpuSeconds < 0 || (isFresh && windowMs < leastAgeMs)) return undefined;
  const nanoCores = Math.min(Math.round((cpuSeconds / windowMs) * 1e12), Number.MAX_SAFE_INTEGER);
  return { timestampMs, windowMs, nanoCores, memoryBytes };
}

export function nodeUsage({ last, previous }: Readings): Usage | undefined {
  return usageOf(last.node, previous?.node);
}

/**
 * Usage by container. Undefined unless all containers have a usage: a partial sum would be mistaken for the whole.
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

/** The member `usage` of the API. */
export function quantitiesOf({ nanoCores, memoryBytes }: Usage): { cpu: string; memory: string } {
  return { cpu: canonicalQuantity(`${nanoCores}n`), memory: quantityFromValue(Math.round(memoryBytes), 'BinarySI') };
}

/** The members `timestamp` and `window` of the API. */
export function momentOf({ timestampMs, windowMs }: Pick<Usage, 'timestampMs' | 'windowMs'>): {
  timestamp: string;
  window: string;
} {
  return {
    timestamp: new Date(timestampMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    window: formatDuration(windowMs),
  };
}
