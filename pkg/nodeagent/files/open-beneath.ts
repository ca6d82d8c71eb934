/**
 * Opens a path within a directory step by step, so that concurrent changes there cannot lead outside: the rules of
 * openat2 with RESOLVE_BENEATH, which Node.js does not support.
 */
import { constants } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, readlink } from 'node:fs/promises';
import { descriptorPath, pathOnly } from '#nodeagent/files/regular-file.js';

export interface OpenBeneathOptions {
  /** Mode of missing directories to create; absent: they must exist. */
  readonly makeMode?: number;
}

/** The kernel's limit. */
const maxLinks = 40;
const maxPathBytes = 4096;

class EscapingPathError extends Error {
  override readonly name = 'EscapingPathError';
}

type Step =
  | { readonly kind: 'opened'; readonly handle: FileHandle }
  | { readonly kind: 'link'; readonly target: string };

/**
 * Returns a descriptor (O_PATH: for mounting, stat and walking, not reading) of `path` below `root`. Follows links
 * within the root; throws EscapingPathError for links that are absolute or lead outside, before creating anything.
 * `root`: its own path may contain links; its content is untrusted.
 */
export async function openBeneath(root: string, path: string, options: OpenBeneathOptions = {}): Promise<FileHandle> {
  let names = resolveNames([], path);
  for (let links = 0; links <= maxLinks; links++) {
    const result = await walk(root, names, options);
    if (!('rest' in result)) return result.handle;
    names = resolveNames(result.before, `${result.target}/${result.rest.join('/')}`);
  }
  throw new EscapingPathError(`too many links in ${JSON.stringify(path)}`);
}

/** Resolves the names of a path relative to the directory `before`. */
function resolveNames(before: readonly string[], path: string): string[] {
  if (path.startsWith('/') || path.length > maxPathBytes)
    throw new EscapingPathError('the path leads outside its directory');
  const names = [...before];
  for (const name of path.split('/')) {
    if (name === '..') {
      // Preceding names are no links, so the parent is the preceding name.
      if (names.pop() === undefined) throw new EscapingPathError('the path leads outside its directory');
    } else if (name !== '' && name !== '.') names.push(name);
  }
  return names;
}

type WalkResult =
  | { readonly handle: FileHandle }
  | { readonly before: readonly string[]; readonly target: string; readonly rest: readonly string[] };

/** Walks to the end, or to the first link. */
async function walk(root: string, names: readonly string[], options: OpenBeneathOptions): Promise<WalkResult> {
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
      // Another process has created it; opening it shows what it is.
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );
  const handle = await open(path, pathOnly | constants.O_NOFOLLOW | constants.O_DIRECTORY);
  try {
    // Not at creation, because of the process's umask, and because mkdir ignores setgid.
    if (isNew) await chmod(descriptorPath(handle), mode & 0o7777);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}
