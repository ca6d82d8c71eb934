/** The hash that names a pod template: the suffix of its ReplicaSet and the pod-template-hash label. */

import type { PodTemplateSpec } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { nameAlphabet as alphabet } from '#apimachinery/generate-name.js';
import { toJSONText } from '#apimachinery/json-text.js';

/** Ten characters at most. `collisionCount` tells apart templates that hash alike. */
export function templateHash(template: PodTemplateSpec, collisionCount: number | undefined): string {
  return hashOf(template, collisionCount);
}

/** The hash of any JSON, in the same letters. */
function hashOf(value: unknown, collisionCount: number | undefined): string {
  const text = canonical(value) + (collisionCount === undefined ? '' : `#${collisionCount}`);
  return [...String(fnv1a(text))].map((digit) => alphabet[digit.charCodeAt(0) % alphabet.length]).join('');
}

/** True when the templates differ in their hash label at most. */
export function sameTemplate(dialect: Dialect, a: PodTemplateSpec, b: PodTemplateSpec): boolean {
  return semanticEqual(withoutHash(dialect, a), withoutHash(dialect, b));
}

function withoutHash(dialect: Dialect, template: PodTemplateSpec): PodTemplateSpec {
  const { [dialect.labels.podTemplateHash]: _hash, ...labels } = template.metadata?.labels ?? {};
  return {
    metadata: { ...template.metadata, labels, annotations: template.metadata?.annotations ?? {} },
    ...(template.spec === undefined ? {} : { spec: template.spec }),
  };
}

/** JSON with sorted keys and without what is absent, so that equal values give equal texts. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return value === undefined ? '' : toJSONText(value);
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined && !(Array.isArray(field) && field.length === 0))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, field]) => `${JSON.stringify(key)}:${canonical(field)}`);
  return `{${fields.join(',')}}`;
}

/** 32-bit FNV-1a over the text's UTF-8 bytes. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}
