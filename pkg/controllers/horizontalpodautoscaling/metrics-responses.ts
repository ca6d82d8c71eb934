/**
 * Decodes responses of the metrics APIs. Their servers are third-party, so every field is validated. Throws for a
 * malformed response, as the decoders of 1.24 do. Pure.
 */

import { parseTime } from '#apimachinery/clock.js';
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { parseDuration } from '#apimachinery/duration.js';
import { member } from '#apimachinery/patch/json-values.js';
import { milliValue } from '#apimachinery/quantity.js';
import type { PodMetric, PodMetrics } from '#controllers/horizontalpodautoscaling/pods.js';

/** For metrics without a window, as in 1.24. */
const defaultWindowMs = 60_000;
/** The limit of quantities in 1.24, positive and negative. */
const maxMilli = 2 ** 63;

/**
 * The resource usage of each pod, from a list of the resource metrics API: of all containers, or of the named one. Omits
 * pods without a measurement. Undefined for an empty list.
 */
export function podMetricsIn(
  response: unknown,
  resource: string,
  container: string | undefined,
): PodMetrics | undefined {
  const items = itemsIn(response);
  if (items.length === 0) return undefined;
  const metrics = new Map<string, PodMetric>();
  for (const item of items) {
    const all = listIn(item, 'containers').map((each) => objectIn(each, 'containers'));
    const counted = container === undefined ? all : all.filter(({ name }) => name === container).slice(0, 1);
    const used = counted.map(({ usage }) => member(objectIn(usage ?? {}, 'usage'), resource));
    if (used.length === 0 || used.includes(undefined)) continue;
    const milli = used.reduce<number>((sum, quantity) => sum + milliIn(quantity), 0);
    metrics.set(nameIn(item['metadata']), {
      milli,
      timestampMs: timeIn(item['timestamp']),
      windowMs: item['window'] === undefined ? 0 : parseDuration(String(item['window'])),
    });
  }
  return metrics;
}

/** The metric of each pod, from a list of either custom metrics API version. Undefined for an empty list. */
export function metricsByPodIn(response: unknown): PodMetrics | undefined {
  const items = itemsIn(response);
  if (items.length === 0) return undefined;
  const metrics = new Map<string, PodMetric>();
  for (const item of items) {
    // The name in v1beta1 is `window`.
    const seconds = item['windowSeconds'] ?? item['window'];
    metrics.set(nameIn(item['describedObject']), {
      milli: milliIn(item['value']),
      timestampMs: timeIn(item['timestamp']),
      windowMs: typeof seconds === 'number' ? seconds * 1000 : defaultWindowMs,
    });
  }
  return metrics;
}

/** The only value in a list of the custom metrics API. */
export function onlyValueIn(response: unknown): number {
  const items = itemsIn(response);
  const [only] = items;
  if (items.length !== 1 || only === undefined) {
    const problem = `returned ${items.length} results when we asked for exactly one`;
    throw new Error(`the custom metrics API server ${problem}`);
  }
  return milliIn(only['value']);
}

/** The sum of all series in a list of the external metrics API. Undefined for an empty list. */
export function sumOfValuesIn(response: unknown): number | undefined {
  const items = itemsIn(response);
  return items.length === 0 ? undefined : items.reduce((sum, item) => sum + milliIn(item['value']), 0);
}

function itemsIn(response: unknown): JsonObject[] {
  return listIn(objectIn(response, 'response'), 'items').map((item) => objectIn(item, 'items'));
}

function listIn(object: JsonObject, field: string): readonly unknown[] {
  const value = object[field] ?? [];
  if (!Array.isArray(value)) throw new TypeError(`${field} is not a list`);
  return value;
}

function objectIn(value: unknown, field: string): JsonObject {
  if (!isJsonObject(value)) throw new TypeError(`${field} is not an object`);
  return value;
}

function nameIn(value: unknown): string {
  const { name } = objectIn(value, 'metadata');
  if (typeof name !== 'string' || name === '') throw new TypeError('name is not a text');
  return name;
}

function milliIn(value: unknown): number {
  if (typeof value !== 'string' && typeof value !== 'number') throw new TypeError('value is not a quantity');
  return Math.min(Math.max(milliValue(String(value)), -maxMilli), maxMilli);
}

function timeIn(value: unknown): number {
  const ms = typeof value === 'string' ? parseTime(value) : Number.NaN;
  if (Number.isNaN(ms)) throw new TypeError('timestamp is not a time');
  return ms;
}
