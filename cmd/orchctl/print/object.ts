/** Prints objects as JSON or YAML. */

import { encodeYAML } from '#apimachinery/codec/yaml.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { ApiObject } from '#client/client.js';

export function objectText(object: unknown, form: 'json' | 'yaml'): string {
  if (form === 'json') return `${toJSONText(object, 4)}\n`;
  return encodeYAML(object).toString();
}

/** Wraps several objects in a List, like kubectl. */
export function asList(objects: readonly ApiObject[]): unknown {
  return { apiVersion: 'v1', kind: 'List', items: objects, metadata: { resourceVersion: '' } };
}

/** Removes managedFields, which only record field ownership. */
export function withoutManagedFields<T extends ApiObject>(object: T): T {
  if (object.metadata.managedFields === undefined) return object;
  const { managedFields: _dropped, ...metadata } = object.metadata;
  return { ...object, metadata };
}
