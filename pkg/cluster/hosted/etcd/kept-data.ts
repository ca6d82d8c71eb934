/** The data of a member from before a restore, which stays beside the restored data for a while. */
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const before = '.before-';
/** After the first start with the restored data. */
const outlived = '.outlived-';

/** Sets the data aside. A repetition keeps what was there before the first try, and removes its own. */
export function keepData(dataDir: string, attempt: string): void {
  const volume = dirname(dataDir);
  const kept = `${basename(dataDir)}${before}${attempt.replace(/[^\w-]+/g, '_')}`;
  for (const suffix of [before, outlived])
    for (const name of keptNames(dataDir, suffix).filter((each) => each !== kept))
      rmSync(join(volume, name), { recursive: true });
  if (!existsSync(dataDir)) return;
  if (existsSync(join(volume, kept))) rmSync(dataDir, { recursive: true });
  else renameSync(dataDir, join(volume, kept));
}

/** Called at each start with data: the second one after a restore removes what was kept, because the volume needs the room. */
export function outliveKeptData(dataDir: string): void {
  const volume = dirname(dataDir);
  for (const name of keptNames(dataDir, outlived)) rmSync(join(volume, name), { recursive: true });
  for (const name of keptNames(dataDir, before))
    renameSync(join(volume, name), join(volume, name.replace(before, outlived)));
}

function keptNames(dataDir: string, suffix: string): string[] {
  const volume = dirname(dataDir);
  if (!existsSync(volume)) return [];
  return readdirSync(volume).filter((name) => name.startsWith(`${basename(dataDir)}${suffix}`));
}
