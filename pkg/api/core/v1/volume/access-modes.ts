/** Access modes of volumes. */
import { declaration as schema } from '#api/core/v1/persistentvolume.js';
import type { RuleGate } from '#api/strategy/feature-gates.js';

export const accessModes = schema.enums.PersistentVolumeAccessMode;

/** The allowed modes: the newest one only if its gate is on or it is stored already. */
export function allowedAccessModes(gate: RuleGate, stored: readonly string[] | undefined): readonly string[] {
  if (gate('ReadWriteOncePod') || stored?.includes('ReadWriteOncePod')) return accessModes;
  return accessModes.filter((mode) => mode !== 'ReadWriteOncePod');
}

const short: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

/** `RWO,RWX`: each mode once, in the usual order. */
export function formatAccessModes(modes: readonly string[] | undefined): string {
  return accessModes
    .filter((mode) => modes?.includes(mode))
    .map((mode) => short[mode] ?? mode)
    .join(',');
}
