/** Annotations of volumes and claims that were replaced by fields. */
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** Annotation with the name of the storage class. */
export function storageClassAnnotation(dialect: Dialect): string {
  return `volume.beta.${dialect.labelDomain}/storage-class`;
}

/** Annotation with mount options. */
export function mountOptionsAnnotation(dialect: Dialect): string {
  return `volume.beta.${dialect.labelDomain}/mount-options`;
}

/** Name of the storage class in the annotation or else the field; empty if there is none. */
export function storageClassOf(
  { metadata, spec }: { metadata: ObjectMeta; spec: { storageClassName?: string } },
  dialect: Dialect,
): string {
  return metadata.annotations?.[storageClassAnnotation(dialect)] ?? spec.storageClassName ?? '';
}
