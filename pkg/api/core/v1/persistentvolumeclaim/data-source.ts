/** The two fields that say what a new volume is filled with: the older knows claims and snapshots only. */

import type { PersistentVolumeClaimSpec, TypedLocalObjectReference } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft, Replaceable } from '#apimachinery/draft.js';

/**
 * What the older field cannot name is forgotten, as it always was; a claim that has a source already, and one that uses
 * the newer field, is left alone. In place.
 */
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

/** Whichever of the fields is set, both are. In place. */
export function alignDataSources(spec: Replaceable<PersistentVolumeClaimSpec>): void {
  if (spec.dataSource !== undefined) spec.dataSourceRef ??= { ...spec.dataSource };
  else if (spec.dataSourceRef !== undefined) spec.dataSource = { ...spec.dataSourceRef };
}
