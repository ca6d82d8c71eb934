/** What a program needs of the machine to run in an image that has nothing else. */
import { execFileSync } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import type { TarEntry } from '#nodeagent/images/tar.js';

/** The program at `path`, from `source` on this machine. */
export function programFile(source: string, path: string): TarEntry {
  return { type: 'file', path, mode: 0o755, data: readFileSync(realpathSync(source)) };
}

/** The shared libraries that the programs load, and their loader, at the same paths as here; each once, sorted. */
export function sharedLibraries(programs: readonly string[]): TarEntry[] {
  const paths = new Set(programs.flatMap((program) => librariesOf(realpathSync(program))));
  return [...paths].sort().map((path) => programFile(path, path.slice(1)));
}

function librariesOf(program: string): string[] {
  const text = execFileSync('ldd', [program], { encoding: 'utf8' });
  return text.split('\n').flatMap((line) => /(\/\S+) \(0x/.exec(line)?.[1] ?? []);
}

/** Users, and the folder for temporary files, of an image whose programs run as nobody in particular. */
export function systemFiles(user: { readonly name: string; readonly id: number }): TarEntry[] {
  const file = (path: string, text: string): TarEntry => ({ type: 'file', path, mode: 0o644, data: Buffer.from(text) });
  const { name, id } = user;
  return [
    { type: 'directory', path: 'tmp', mode: 0o1777 },
    file('etc/passwd', `root:x:0:0:root:/:/nologin\n${name}:x:${id}:${id}:${name}:/tmp:/nologin\n`),
    file('etc/group', `root:x:0:\n${name}:x:${id}:\n`),
    file('etc/nsswitch.conf', 'hosts: files dns\n'),
  ];
}
