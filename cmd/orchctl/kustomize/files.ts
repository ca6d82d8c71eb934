/** Files and folders of a kustomization. What a kustomization reads lies in or below its folder, unless that is lifted. */
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { messageOf } from '#apimachinery/errors/message.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

export interface FolderOptions {
  /** Reads a URL. */
  readonly fetch: (url: string) => Promise<Buffer>;
  /** Copies a repository, and resolves with the folder of the copy. */
  readonly clone: (repository: string, reference: string | undefined) => Promise<string>;
  /** Whether files may lie outside of the folder. */
  readonly anywhere: boolean;
}

const names = ['kustomization.yaml', 'kustomization.yml', 'Kustomization'];

/** A path in a repository: `https://HOST/OWNER/NAME//PATH?ref=REF`, or of one of the known hosts without the double slash. */
export interface RepositoryPath {
  readonly repository: string;
  readonly path: string;
  readonly reference?: string;
}

/** Undefined for what is no repository. */
export function parseRepository(text: string): RepositoryPath | undefined {
  const [address = '', query = ''] = text.split('?');
  const parameters = new URLSearchParams(query);
  const reference = parameters.get('ref') ?? parameters.get('version') ?? undefined;
  const pathIn = (repository: string, path: string) => ({
    repository,
    path: path.replaceAll(/^\/+|\/+$/g, ''),
    ...(reference === undefined ? {} : { reference }),
  });
  const withoutForce = address.replace(/^git::/, '');
  const forge =
    /^(?:(https?:\/\/|ssh:\/\/git@|git@)?(github\.com|gitlab\.com|bitbucket\.org))[/:]([^/]+)\/([^/]+?)(?:\.git)?(\/.*)?$/.exec(
      withoutForce,
    );
  if (forge !== null) {
    const [, scheme = 'https://', host = '', owner = '', name = '', path = ''] = forge;
    const prefix = scheme === 'git@' ? `git@${host}:` : `${scheme}${host}/`;
    return pathIn(`${prefix}${owner}/${name}.git`, path);
  }
  const isAddress = /^(?:https?|ssh|file|git):\/\/|^git@/.test(withoutForce);
  if (!isAddress) return undefined;
  const double = withoutForce.indexOf('//', withoutForce.indexOf('://') + '://'.length);
  if (double > 0) return pathIn(withoutForce.slice(0, double), withoutForce.slice(double));
  const suffix = withoutForce.indexOf('.git');
  if (suffix > 0)
    return pathIn(withoutForce.slice(0, suffix + '.git'.length), withoutForce.slice(suffix + '.git'.length));
  return address === withoutForce && reference === undefined ? undefined : pathIn(withoutForce, '');
}

/** The folder of a kustomization. */
export class Folder {
  readonly root: string;
  readonly #options: FolderOptions;
  /** The folders on the way to this one. */
  readonly #visited: readonly string[];
  /** The copy of a repository that the folder is in. */
  readonly #repository: string | undefined;

  private constructor(root: string, options: FolderOptions, visited: readonly string[], repository?: string) {
    this.root = root;
    this.#options = options;
    this.#visited = visited;
    this.#repository = repository;
  }

  /** Throws a CommandError for what is no folder. */
  static async open(path: string, options: FolderOptions): Promise<Folder> {
    const repository = parseRepository(path);
    if (repository !== undefined) return Folder.#ofRepository(repository, options, []);
    return new Folder(realFolder(path), options, []);
  }

  static async #ofRepository(
    { repository, path, reference }: RepositoryPath,
    options: FolderOptions,
    visited: readonly string[],
  ): Promise<Folder> {
    const copy = realpathSync(await options.clone(repository, reference));
    const root = realFolder(join(copy, path));
    if (!isInside(copy, root)) throw new CommandError(`'${path}' is outside of the repository`);
    return new Folder(root, { ...options, anywhere: false }, visited, copy);
  }

  /** The folder of another kustomization. Throws a CommandError. */
  async folder(path: string): Promise<Folder> {
    const repository = parseRepository(path);
    const visited = [...this.#visited, this.root];
    if (repository !== undefined) {
      const name = JSON.stringify(repository);
      if (visited.includes(name)) throw new CommandError(`cycle detected: URI '${path}' referenced by previous URI`);
      return Folder.#ofRepository(repository, this.#options, [...visited, name]);
    }
    if (isAbsolute(path)) throw new CommandError(`new root '${path}' cannot be absolute`);
    const root = realFolder(resolve(this.root, path));
    if (this.#repository !== undefined && !isInside(this.#repository, root)) {
      throw new CommandError(
        `security; bases in kustomizations found in cloned git repos must be within the repo, but base '${root}' is outside '${this.#repository}'`,
      );
    }
    const inner = visited.toReversed().find((each) => isInside(root, each));
    if (inner !== undefined) {
      throw new CommandError(`cycle detected: candidate root '${root}' contains visited root '${inner}'`);
    }
    return new Folder(root, this.#options, visited, this.#repository);
  }

  /** The text of the only file that describes the folder. Throws a CommandError. */
  description(): { readonly name: string; readonly text: string } {
    const present = names.filter((name) => existsSync(join(this.root, name)));
    const [name, another] = present;
    if (name === undefined) {
      throw new CommandError(
        `unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '${this.root}'`,
      );
    }
    if (another !== undefined) throw new CommandError(`Found multiple kustomization files under: ${this.root}\n`);
    return { name, text: readFileSync(join(this.root, name), 'utf8') };
  }

  /** A file, or what a URL answers. Throws a CommandError. */
  async read(path: string): Promise<Buffer> {
    if (/^https?:\/\//.test(path)) return this.#options.fetch(path);
    const absolute = resolve(this.root, path);
    try {
      const real = realpathSync(absolute);
      if (statSync(real).isDirectory()) throw new CommandError(`'${real}' must resolve to a file`);
      if (!this.#options.anywhere && !isInside(this.root, dirname(real))) {
        throw new CommandError(`security; file '${real}' is not in or below '${this.root}'`);
      }
      return readFileSync(real);
    } catch (error) {
      if (error instanceof CommandError) throw error;
      throw new CommandError(`evalsymlink failure on '${absolute}' : ${plainMessage(error, absolute)}`);
    }
  }

  isFolder(path: string): boolean {
    const absolute = resolve(this.root, path);
    return existsSync(absolute) && statSync(absolute).isDirectory();
  }
}

function realFolder(path: string): string {
  let real: string;
  try {
    real = realpathSync(path);
  } catch (error) {
    throw new CommandError(`evalsymlink failure on '${path}' : ${plainMessage(error, path)}`);
  }
  if (!statSync(real).isDirectory()) {
    throw new CommandError(`'${path}' must be a directory so that it can used as a build root`);
  }
  return real;
}

function plainMessage(error: unknown, path: string): string {
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
  return isMissing ? `lstat ${path}: no such file or directory` : messageOf(error);
}

function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === '' || (!way.startsWith('..') && !isAbsolute(way));
}
