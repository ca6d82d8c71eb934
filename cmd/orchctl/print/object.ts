/** Prints objects as JSON or YAML, as kubectl does. */

import { toJSONText } from '#apimachinery/json-text.js';
import type { ApiObject } from '#client/client.js';
import { escaped, goJSON } from '#cmd/orchctl/print/json/go-json.js';
import { yamlText } from '#cmd/orchctl/print/yaml/emit.js';

/** Members in alphabetical order. */
export function objectText(object: unknown, form: 'json' | 'yaml'): string {
  return form === 'json' ? `${goJSON(object, 4)}\n` : yamlText(object);
}

/** JSON whose members keep their order, as that of the kinds that a command creates itself. */
export function orderedJSON(object: unknown): string {
  return `${escaped(toJSONText(object, 4))}\n`;
}

/** Wraps several objects in a List, like kubectl. */
export function asList(objects: readonly ApiObject[]): unknown {
  return { apiVersion: 'v1', items: objects, kind: 'List', metadata: { resourceVersion: '' } };
}

/** Removes managedFields, which only record field ownership. */
export function withoutManagedFields<T extends ApiObject>(object: T): T {
  if (object.metadata?.managedFields === undefined) return object;
  const { managedFields: _dropped, ...metadata } = object.metadata;
  return { ...object, metadata };
}
