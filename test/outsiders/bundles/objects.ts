/** Compares objects of two servers after the same requests, without values that may differ. Pure. */

import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';

/** Fields that each server chooses itself. */
const ownToMetadata = ['uid', 'resourceVersion', 'creationTimestamp'];
const chosenOfServices = ['clusterIP', 'clusterIPs', 'healthCheckNodePort'];
const uid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const time = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
const shownLength = 80;

/** `KIND NAMESPACE/NAME` of an object. */
export function nameOf(object: unknown): string {
  const { kind, metadata } = object as { kind?: string; metadata?: { namespace?: string; name?: string } };
  return `${kind ?? '?'} ${metadata?.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata?.name ?? '?'}`;
}

/** Fields that differ between two servers, at most `limit`. */
export function differences(one: unknown, other: unknown, limit: number): string[] {
  const out: string[] = [];
  compare(comparable(one), comparable(other), '', out);
  return out.slice(0, limit);
}

function comparable(object: unknown): JsonObject {
  const { kind, metadata, spec, status, ...rest } = object as Partial<
    Record<'metadata' | 'spec' | 'status', JsonObject>
  > &
    JsonObject;
  const common = { ...metadata };
  for (const field of ownToMetadata) delete common[field];
  // 1.24 increments the generation for fields of disabled gates before it drops the fields.
  if (kind === 'CustomResourceDefinition') delete common['generation'];
  // The order of entries depends on whether they were written in the same second.
  if (Array.isArray(common['managedFields']))
    common['managedFields'] = [...common['managedFields']].sort((a, b) => (entryName(a) < entryName(b) ? -1 : 1));
  const own = { ...spec };
  if (kind === 'Service') {
    if (own['clusterIP'] !== 'None') for (const field of chosenOfServices) delete own[field];
    own['ports'] = (own['ports'] as JsonObject[] | undefined)?.map(({ nodePort: _, ...port }) => port);
  }
  const observed = replaceTexts({ metadata: common, status: ordered(status) }, time, 'a time') as JsonObject;
  return replaceTexts({ kind, spec: own, ...rest, ...observed }, uid, 'a uid') as JsonObject;
}

/** Sorts conditions, since their order depends on when controllers run. */
function ordered(status: JsonObject | undefined): JsonObject | undefined {
  const conditions = status?.['conditions'];
  if (!Array.isArray(conditions)) return status;
  const typeOf = (condition: unknown) => String((condition as JsonObject)['type']);
  return { ...status, conditions: [...conditions].sort((a, b) => (typeOf(a) < typeOf(b) ? -1 : 1)) };
}

function entryName(entry: unknown): string {
  const { manager, operation, subresource, apiVersion } = entry as Record<string, string>;
  return JSON.stringify([operation, manager, subresource, apiVersion]);
}

function replaceTexts(value: unknown, pattern: RegExp, by: string): unknown {
  if (typeof value === 'string') return pattern.test(value) ? by : value;
  if (Array.isArray(value)) return value.map((item) => replaceTexts(item, pattern, by));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replaceTexts(item, pattern, by)]));
}

function compare(one: unknown, other: unknown, path: string, out: string[]): void {
  if (isJsonObject(one) && isJsonObject(other)) {
    for (const key of new Set([...Object.keys(one), ...Object.keys(other)]))
      compare(one[key], other[key], `${path}.${key}`, out);
  } else if (Array.isArray(one) && Array.isArray(other) && one.length === other.length) {
    for (const [index, item] of one.entries()) compare(item, other[index], `${path}[${index}]`, out);
  } else if (!isDeepStrictEqual(one, other)) {
    out.push(`${path}: ${brief(one)}, there ${brief(other)}`);
  }
}

function brief(value: unknown): string {
  const text = JSON.stringify(value) ?? 'absent';
  return text.length > shownLength ? `${text.slice(0, shownLength)}…` : text;
}
