/** The hash of a pod template: the suffix of its ReplicaSet's name and the pod-template-hash label. */

import type { PodTemplateSpec } from '#api/core/v1/types.gen.js';
import { goFieldsOf } from '#api/go/go-fields.js';
import { schemeFor } from '#api/scheme.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { fnv1a } from '#apimachinery/fnv.js';
import { nameAlphabet as alphabet } from '#apimachinery/generate-name.js';
import { goDump } from '#apimachinery/spew/dump.js';

/**
 * Equals ComputeHash of release 1.24 (pkg/controller/controller_utils.go), so that this controller manager can take over
 * from another and find its objects by name. At most ten characters. `collisionCount` varies the hash after a collision.
 * Pure.
 */
export function templateHash(dialect: Dialect, template: PodTemplateSpec, collisionCount: number | undefined): string {
  const type = schemeFor(dialect).type('core.v1.PodTemplateSpec');
  const dump = Buffer.from(goDump(type, template, goFieldsOf));
  const hash = fnv1a(collisionCount === undefined ? dump : Buffer.concat([dump, countBytes(collisionCount)]));
  return [...String(hash)].map((digit) => alphabet[digit.charCodeAt(0) % alphabet.length]).join('');
}

/** The low 32 bits, in eight bytes. */
function countBytes(count: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(count >>> 0);
  return bytes;
}

/** Compares templates without the hash label. */
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
