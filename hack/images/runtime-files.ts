/** The files of the machine that a program needs in an otherwise empty image. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import { basename } from 'node:path';
import type { TarEntry } from '#nodeagent/images/tar.js';

/** The program at `path`, from `source` on this machine. */
export function programFile(source: string, path: string): TarEntry {
  return { type: 'file', path, mode: 0o755, data: readFileSync(realpathSync(source)) };
}

/** Where a program of this machine is. Throws when it is not installed. */
export function pathOf(program: string): string {
  return execFileSync('which', [program], { encoding: 'utf8' }).trim();
}

/** A program of this machine, where images have programs. */
export function toolFile(path: string): TarEntry {
  return programFile(path, `usr/bin/${basename(path)}`);
}

/**
 * Paths of the shared libraries that a program loads, its loader among them; none of one that is linked statically.
 * @param folders Where libraries are looked for before the system's own folders. Throws where one is in neither.
 */
export function librariesOf(program: string, folders: readonly string[] = []): string[] {
  const env = { ...process.env, LD_LIBRARY_PATH: folders.join(':') };
  const { status, stdout, stderr } = spawnSync('ldd', [program], { encoding: 'utf8', env });
  if (status !== 0 && /not a dynamic executable/.test(stderr)) return [];
  if (status !== 0) throw new Error(`ldd ${program}: ${stderr.trim()}`);
  const missing = /(\S+) => not found/.exec(stdout)?.[1];
  if (missing !== undefined) throw new Error(`${program}: no library ${missing}`);
  return stdout.split('\n').flatMap((line) => /(\/\S+) \(0x/.exec(line)?.[1] ?? []);
}

/** The user database and the folder for temporary files of an image whose programs run as any user. */
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
