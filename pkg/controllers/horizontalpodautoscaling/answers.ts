/**
 * What the metrics APIs answer. Their servers are strangers: nothing of their answers is taken on trust. Pure; throws
 * where an answer is not what it should be, as the decoders of 1.24 do.
 */

import { parseTime } from '#apimachinery/clock.js';
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { parseDuration } from '#apimachinery/duration.js';
import { member } from '#apimachinery/patch/json-values.js';
import { milliValue } from '#apimachinery/quantity.js';
import type { PodMetric, PodMetrics } from '#controllers/horizontalpodautoscaling/pods.js';

/** Of metrics that do not say over how long they were taken; as in 1.24. */
const defaultWindowMs = 60_000;
/** As far as the quantities of 1.24 reach, either way. */
const maxMilli = 2 ** 63;

/**
 * What each pod uses of a resource, from a list of the resource metrics API: all containers together, or the one named.
 * Pods without a measurement are left out. Undefined for an empty list.
 */
export function podMetricsIn(answer: unknown, resource: string, container: string | undefined): PodMetrics | undefined {
  const items = itemsIn(answer);
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

/** The metric of each pod, from a list of either version of the custom metrics API. Undefined for an empty list. */
export function metricsByPodIn(answer: unknown): PodMetrics | undefined {
  const items = itemsIn(answer);
  if (items.length === 0) return undefined;
  const metrics = new Map<string, PodMetric>();
  for (const item of items) {
    // v1beta1 calls it window.
    const seconds = item['windowSeconds'] ?? item['window'];
    metrics.set(nameIn(item['describedObject']), {
      milli: milliIn(item['value']),
      timestampMs: timeIn(item['timestamp']),
      windowMs: typeof seconds === 'number' ? seconds * 1000 : defaultWindowMs,
    });
  }
  return metrics;
}

/** The one value of a list of the custom metrics API. */
export function onlyValueIn(answer: unknown): number {
  const items = itemsIn(answer);
  const [only] = items;
  if (items.length !== 1 || only === undefined) {
    const found = `returned ${items.length} results when we asked for exactly one`;
    throw new Error(`the custom metrics API server ${found}`);
  }
  return milliIn(only['value']);
}

/** The sum of all series of a list of the external metrics API. Undefined for an empty list. */
export function sumOfValuesIn(answer: unknown): number | undefined {
  const items = itemsIn(answer);
  return items.length === 0 ? undefined : items.reduce((sum, item) => sum + milliIn(item['value']), 0);
}

function itemsIn(answer: unknown): JsonObject[] {
  return listIn(objectIn(answer, 'answer'), 'items').map((item) => objectIn(item, 'items'));
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
