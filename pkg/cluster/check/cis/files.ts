/** Rules about the owner and the permissions of files. Pure. */
import type { Check } from '#cluster/check/cis/check.js';
import type { FileFacts } from '#cluster/check/cis/facts.js';

/** The first file that others than its owner may use, or whose owner may execute it; undefined: none. */
export function openFile(files: readonly FileFacts[], allowed = 0o600): string | undefined {
  const open = files.find(({ mode }) => (mode & ~allowed) !== 0);
  return open && `${open.path} has the permissions ${open.mode.toString(8).padStart(3, '0')}`;
}

/** The first file that belongs to another user than that of the cluster's processes; undefined: none. */
export function foreignFile(files: readonly FileFacts[], user: number): string | undefined {
  const foreign = files.find(({ owner }) => owner !== user);
  return foreign && `${foreign.path} belongs to the user ${foreign.owner} instead of ${user}`;
}

interface FileRows<Facts> {
  readonly files: (facts: Facts) => readonly FileFacts[];
  /** Why the checks do not apply where there is no such file; absent: they always apply. */
  readonly absent?: string;
  readonly isManual?: true;
}

/** Two checks of the same files: their permissions, and their owner. */
export function fileRows<Facts extends { readonly user: number }>(
  [permissions, owner]: readonly [string, string],
  what: string,
  { files, absent, isManual }: FileRows<Facts>,
): Check<Facts>[] {
  const common = {
    ...(isManual === true ? { isManual } : {}),
    ...(absent === undefined ? {} : { exempt: (facts: Facts) => (files(facts).length === 0 ? absent : undefined) }),
  };
  return [
    {
      id: permissions,
      title: `Only the owner can read and write ${what}`,
      problem: (facts) => openFile(files(facts)),
      remedy: 'chmod 600 FILE',
      ...common,
    },
    {
      id: owner,
      title: `The user of the cluster owns ${what}`,
      problem: (facts) => foreignFile(files(facts), facts.user),
      remedy: 'chown root:root FILE',
      ...common,
    },
  ];
}
