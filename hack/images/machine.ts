/** Where the files of images come from: this machine, or the unpacked packages of another one (hack/foreign-machine.sh). */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { TarEntry } from '#nodeagent/images/tar.js';
import { loadingOf } from './elf.js';
import { librariesOf, pathOf, programFile } from './runtime-files.js';

export interface Machine {
  /** Node.js's name, as `process.arch`. */
  readonly arch: string;
  /** Program of Node.js on this disk. */
  readonly node: string;
  /** Folder on this disk that is its root, without a slash at its end. */
  readonly root: string;
  /** Where a program is on this disk. Throws when it is not installed. */
  pathOf(program: string): string;
  /**
   * Paths on this disk of the shared libraries that a program loads, its loader among them; none of one that is linked
   * statically. Throws for a missing library.
   */
  librariesOf(program: string): string[];
}

export function ownMachine(): Machine {
  return {
    ...{ arch: process.arch, node: process.execPath, root: '', pathOf },
    librariesOf: (program) => librariesOf(realpathSync(program)),
  };
}

/** Names of processors of Debian, of Node.js and in the paths of libraries. */
const processors: Readonly<Record<string, { readonly arch: string; readonly triplet: string }>> = {
  amd64: { arch: 'x64', triplet: 'x86_64-linux-gnu' },
  arm64: { arch: 'arm64', triplet: 'aarch64-linux-gnu' },
};

/** Programs that Debian's installation links to another name. */
const installed: Readonly<Record<string, string>> = { iptables: 'xtables-nft-multi' };

/** @param folder With `node` and `root`. Throws for an unknown architecture. */
export function foreignMachine(debianArch: string, folder: string): Machine {
  const processor = processors[debianArch];
  if (processor === undefined) throw new Error(`no images for ${debianArch}`);
  const root = realpathSync(join(folder, 'root'));
  const first = (name: string, folders: readonly string[]) => {
    const path = folders.map((each) => join(root, each, name)).find((each) => existsSync(each));
    if (path === undefined) throw new Error(`${root} has no ${name}`);
    return path;
  };
  const libraries = ['lib', 'usr/lib'].flatMap((each) => [`${each}/${processor.triplet}`, each]);
  const loaded = (program: string) => {
    const paths = new Set<string>();
    const add = (file: string) => {
      const { loader, needed } = loadingOf(readFileSync(file));
      const names = [...needed, ...(loader === undefined ? [] : [basename(loader)])];
      for (const path of names.map((name) => first(name, libraries))) {
        if (paths.has(path)) continue;
        paths.add(path);
        add(realpathSync(path));
      }
    };
    add(realpathSync(program));
    return [...paths];
  };
  const programs = ['usr/bin', 'bin', 'usr/sbin', 'sbin'];
  return {
    ...{ arch: processor.arch, node: join(folder, 'node'), root, librariesOf: loaded },
    pathOf: (program) => first(installed[program] ?? program, programs),
  };
}

/** The shared libraries that the programs load, and their loader, at their paths; each once, sorted. */
export function sharedLibraries(machine: Machine, programs: readonly string[]): TarEntry[] {
  const paths = new Set(programs.flatMap((program) => machine.librariesOf(program)));
  return [...paths].sort().map((path) => programFile(path, imagePath(machine, path)));
}

/** Where a file of the machine is in its images. */
export function imagePath({ root }: Machine, path: string): string {
  return path.slice(root.length + 1);
}
