/** Ways in which volumes may be mounted. */

export const accessModes = ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod'] as const;

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
