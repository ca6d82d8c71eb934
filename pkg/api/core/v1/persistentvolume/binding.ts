/** Binding a volume to a claim. */

import { isBoundTo } from '#api/core/v1/persistentvolume/match.js';
import { persistentvolumeclaims } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** The volume with a reference to the claim; the same object if unchanged. */
export function boundVolume(
  volume: PersistentVolume,
  { metadata }: PersistentVolumeClaim,
  dialect: Dialect,
): PersistentVolume {
  const { claimRef } = volume.spec;
  const { name = '', namespace = '', uid = '', resourceVersion = '' } = metadata;
  if (claimRef?.name === name && claimRef.namespace === namespace && claimRef.uid === uid) return volume;
  const byUser = isBoundTo(volume, { metadata, spec: {} });
  const annotated = byUser ? volume : annotate(volume, { [dialect.annotations.boundByController]: 'yes' });
  const apiVersion = dialect.apiVersion(persistentvolumeclaims.group, persistentvolumeclaims.version);
  const reference = { kind: persistentvolumeclaims.kind, apiVersion, namespace, name, uid, resourceVersion };
  return { ...annotated, spec: { ...volume.spec, claimRef: reference } };
}

/** The object with these annotations; the same object if it has them. */
export function annotate<T extends { metadata: ObjectMeta }>(
  object: T,
  annotations: Readonly<Record<string, string>>,
): T {
  const old = object.metadata.annotations ?? {};
  if (Object.entries(annotations).every(([key, value]) => old[key] === value)) return object;
  return { ...object, metadata: { ...object.metadata, annotations: { ...old, ...annotations } } };
}
