/** The two fields for the content of a new volume: the older one supports only claims and snapshots. */

import type { PersistentVolumeClaimSpec, TypedLocalObjectReference } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft, Replaceable } from '#apimachinery/draft.js';

/** Drops a source that the older field does not support, unless one is stored or the newer field is set. In place. */
export function dropUnknownDataSource(
  spec: Draft<PersistentVolumeClaimSpec>,
  old: PersistentVolumeClaimSpec | undefined,
  dialect: Dialect,
): void {
  if (old?.dataSource !== undefined || old?.dataSourceRef !== undefined) return;
  if (spec.dataSource === undefined || spec.dataSourceRef !== undefined) return;
  if (!isClaimOrSnapshot(spec.dataSource, dialect)) delete spec.dataSource;
}

function isClaimOrSnapshot({ kind, apiGroup = '' }: TypedLocalObjectReference, dialect: Dialect): boolean {
  if (kind === 'PersistentVolumeClaim') return apiGroup === '';
  return kind === 'VolumeSnapshot' && apiGroup === `snapshot.storage.${dialect.apiDomain}`;
}

/** Copies the field that is set to the other one. In place. */
export function alignDataSources(spec: Replaceable<PersistentVolumeClaimSpec>): void {
  if (spec.dataSource !== undefined) spec.dataSourceRef ??= { ...spec.dataSource };
  else if (spec.dataSourceRef !== undefined) spec.dataSource = { ...spec.dataSourceRef };
}
