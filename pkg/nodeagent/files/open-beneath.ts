/**
 * Opens what a path names within a directory, step by step, so that nothing that somebody changes there meanwhile leads
 * out of it: the rules of openat2 with RESOLVE_BENEATH, which Node.js has no call for.
 */
import { constants } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, readlink } from 'node:fs/promises';
import { descriptorPath, pathOnly } from '#nodeagent/files/regular-file.js';

export interface OpenBeneathOptions {
  /** Makes the directories that are missing, with this mode; absent: they must be there. */
  readonly makeMode?: number;
}

/** As many as the kernel follows. */
const maxLinks = 40;
const maxPathBytes = 4096;

class LeadsOutError extends Error {
  override readonly name = 'LeadsOutError';
}

type Step =
  | { readonly kind: 'opened'; readonly handle: FileHandle }
  | { readonly kind: 'link'; readonly target: string };

/**
 * A descriptor (O_PATH: to be mounted, asked and walked on, not read) of what `path` names below `root`. Links are
 * followed within the root; one that is absolute or leads out is refused with LeadsOutError before anything is made.
 * @param root Its own path may have links; below it everything belongs to somebody else.
 */
export async function openBeneath(root: string, path: string, options: OpenBeneathOptions = {}): Promise<FileHandle> {
  let names = namesOf([], path);
  for (let links = 0; links <= maxLinks; links++) {
    const reached = await walk(root, names, options);
    if (!('rest' in reached)) return reached.handle;
    names = namesOf(reached.before, `${reached.target}/${reached.rest.join('/')}`);
  }
  throw new LeadsOutError(`too many links in ${JSON.stringify(path)}`);
}

/** The names of a path that begins in the directory `before`. */
function namesOf(before: readonly string[], path: string): string[] {
  if (path.startsWith('/') || path.length > maxPathBytes)
    throw new LeadsOutError('the path leads out of its directory');
  const names = [...before];
  for (const name of path.split('/')) {
    if (name === '..') {
      // What is before it is no link: a directory's parent is what stands before its name.
      if (names.pop() === undefined) throw new LeadsOutError('the path leads out of its directory');
    } else if (name !== '' && name !== '.') names.push(name);
  }
  return names;
}

type Reached =
  | { readonly handle: FileHandle }
  | { readonly before: readonly string[]; readonly target: string; readonly rest: readonly string[] };

/** Walks to the end, or to the first link. */
async function walk(root: string, names: readonly string[], options: OpenBeneathOptions): Promise<Reached> {
  let current = await open(root, pathOnly | constants.O_DIRECTORY);
  for (const [i, name] of names.entries()) {
    const parent = current;
    const last = i === names.length - 1;
    try {
      const step = await openStep(`${descriptorPath(parent)}/${name}`, options.makeMode);
      if (step.kind === 'link') return { before: names.slice(0, i), target: step.target, rest: names.slice(i + 1) };
      current = step.handle;
    } finally {
      await parent.close();
    }
    if (!last && !(await current.stat()).isDirectory()) {
      await current.close();
      throw Object.assign(new Error(`${JSON.stringify(name)} is not a directory`), { code: 'ENOTDIR' });
    }
  }
  return { handle: current };
}

async function openStep(path: string, makeMode: number | undefined): Promise<Step> {
  const handle = (await openUnlessMissing(path, makeMode !== undefined)) ?? (await makeDirectory(path, makeMode ?? 0));
  try {
    if (!(await handle.stat()).isSymbolicLink()) return { kind: 'opened', handle };
    const target = await readlink(path);
    await handle.close();
    return { kind: 'link', target };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function openUnlessMissing(path: string, mayBeMissing: boolean): Promise<FileHandle | undefined> {
  try {
    return await open(path, pathOnly | constants.O_NOFOLLOW);
  } catch (error) {
    if (mayBeMissing && (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function makeDirectory(path: string, mode: number): Promise<FileHandle> {
  const isNew = await mkdir(path, { mode: mode & 0o777 }).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      // Somebody was quicker: what it is will be seen.
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );
  const made = await open(path, pathOnly | constants.O_NOFOLLOW | constants.O_DIRECTORY);
  try {
    // Set apart from the creation: that is subject to the process's umask, and knows no setgid.
    if (isNew) await chmod(descriptorPath(made), mode & 0o7777);
    return made;
  } catch (error) {
    await made.close();
    throw error;
  }
}
