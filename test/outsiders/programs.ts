/** Programs of this project under the names that external suites start. */
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { own } from '#test/integration/peers/implementations.js';

export type Daemon = Parameters<typeof own>[0];

/** Writes a shell script that runs the daemon with `options` before its arguments. */
export async function writeDaemonScript(path: string, daemon: Daemon, options: readonly string[] = []): Promise<void> {
  const words = [...own(daemon), ...options].map((word) => `'${word}'`).join(' ');
  await writeScript(path, `exec ${words} "$@"`);
}

export async function writeScript(path: string, ...lines: readonly string[]): Promise<void> {
  await writeFile(path, ['#!/bin/sh', ...lines, ''].join('\n'));
  await chmod(path, 0o755);
}

/** Creates a folder with links to programs, by link name. */
export async function linkPrograms(folder: string, programs: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, program] of Object.entries(programs)) await symlink(program, join(folder, name));
}
