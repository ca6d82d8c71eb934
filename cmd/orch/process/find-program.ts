import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Places of system programs that are not on every user's PATH. */
const systemFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin'];

/** Where a program is, by its name or its path; undefined where it is not. */
export function findProgram(program: string, path: string): string | undefined {
  const candidates = program.startsWith('/')
    ? [program]
    : [...path.split(delimiter), ...systemFolders].map((folder) => join(folder, program));
  return candidates.find((candidate) => {
    try {
      accessSync(candidate, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
