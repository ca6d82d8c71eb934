/** Caches another server's results for a bundle in files, since they are slow to compute and never change. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Applied } from '#test/outsiders/bundles/apply.js';

interface Written {
  readonly problem?: string;
  readonly changedAgain: readonly (readonly [string, string])[];
  readonly objects: readonly (readonly [string, unknown])[];
}

/** Without a folder, nothing is cached. */
export function recordsIn(folder: string | undefined) {
  return async (name: string, apply: () => Promise<Applied>): Promise<Applied> => {
    if (folder === undefined) return apply();
    const file = join(folder, `${name}.json`);
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    if (text !== undefined) {
      const { problem, changedAgain, objects } = JSON.parse(text) as Written;
      return { problem, changedAgain: new Map(changedAgain), objects: new Map(objects) };
    }
    const applied = await apply();
    await mkdir(folder, { recursive: true });
    await writeFile(
      file,
      JSON.stringify({ ...applied, changedAgain: [...applied.changedAgain], objects: [...applied.objects] }),
    );
    return applied;
  };
}
