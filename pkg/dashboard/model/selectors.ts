/** The pods of an object. Pure. */

import type { ApiObject } from '#dashboard/model/api-object.js';
import type { Kind } from '#dashboard/model/catalog.js';

/** Of a list of pods. */
export interface PodSelection {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface Requirements {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** By the object's own selector; a pod by its name. */
export function podSelection({ kind }: Pick<Kind, 'kind'>, object: ApiObject): PodSelection {
  if (kind === 'Pod') return { fieldSelector: `metadata.name=${object.metadata.name ?? ''}` };
  const { spec } = object as {
    readonly spec?: { readonly selector?: Requirements | Readonly<Record<string, string>> };
  };
  const selector = spec?.selector ?? {};
  // A service's selector is a map; an empty one selects no pods.
  const requirements =
    kind === 'Service' ? { matchLabels: selector as Readonly<Record<string, string>> } : (selector as Requirements);
  const text = selectorText(requirements);
  return text === '' ? { fieldSelector: 'metadata.name=' } : { labelSelector: text };
}

export function selectorText({ matchLabels = {}, matchExpressions = [] }: Requirements): string {
  const labels = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  const expressions = matchExpressions.map(({ key, operator, values = [] }) => {
    if (operator === 'Exists') return key;
    if (operator === 'DoesNotExist') return `!${key}`;
    return `${key} ${operator === 'In' ? 'in' : 'notin'} (${values.join(',')})`;
  });
  return [...labels, ...expressions].join(',');
}

/** Whether the labels match; as in the API, empty requirements match everything. */
export function selects(
  { matchLabels = {}, matchExpressions = [] }: Requirements,
  labels: Readonly<Record<string, string>> = {},
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === 'Exists') return value !== undefined;
      if (operator === 'DoesNotExist') return value === undefined;
      if (operator === 'In') return value !== undefined && values.includes(value);
      return value === undefined || !values.includes(value);
    })
  );
}
