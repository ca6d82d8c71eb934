/** Ways in which volumes may be mounted. */
import { declaration as schema } from '#api/core/v1/persistentvolume.js';
import type { RuleGate } from '#api/strategy/feature-gates.js';

export const accessModes = schema.enums.PersistentVolumeAccessMode;

/** The modes that may be asked for: the newest one only while its gate is on, or where it is stored already. */
export function knownAccessModes(gate: RuleGate, stored: readonly string[] | undefined): readonly string[] {
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
