/** Programs named `orchctl-NAME` or `kubectl-NAME` in the folders of the PATH, which act as commands. */
import { spawn } from 'node:child_process';
import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';
import type { Terminal } from '#cmd/orchctl/terminal/terminal.js';

const prefixes = ['orchctl-', 'kubectl-'];

export interface PluginFile {
  readonly folder: string;
  readonly file: string;
  readonly isExecutable: boolean;
}

function foldersOf(env: Terminal['env']): string[] {
  return [...new Set((env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== ''))];
}

/** The files in the order of the PATH; folders that cannot be read have none. */
export function pluginFiles(env: Terminal['env']): PluginFile[] {
  return foldersOf(env).flatMap((folder) =>
    filesIn(folder)
      .filter((file) => prefixes.some((prefix) => file.startsWith(prefix)))
      .map((file) => ({ folder, file, isExecutable: isExecutable(join(folder, file)) })),
  );
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The name of a command without the prefix of its file. */
export function commandName(file: string): string {
  const prefix = prefixes.find((each) => file.startsWith(each)) ?? '';
  return file.slice(prefix.length);
}

/** The program that most of the first words name, and the words after its name. Dashes of words are underscores in files. */
export function pluginFor(
  words: readonly string[],
  env: Terminal['env'],
): { readonly path: string; readonly args: readonly string[] } | undefined {
  const end = words.findIndex((word) => word.startsWith('-'));
  const named = (end < 0 ? words : words.slice(0, end)).map((word) => word.replaceAll('-', '_'));
  for (let count = named.length; count > 0; count -= 1) {
    const name = named.slice(0, count).join('-');
    // A word is no path.
    if (name.includes('/')) continue;
    for (const prefix of prefixes) {
      const folder = foldersOf(env).find((each) => isExecutable(join(each, `${prefix}${name}`)));
      if (folder !== undefined) return { path: join(folder, `${prefix}${name}`), args: words.slice(count) };
    }
  }
  return undefined;
}

/** Runs the program on this process's own streams; resolves with its exit code. */
export function runPlugin(path: string, args: readonly string[], env: Terminal['env']): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(path, args, { env: { ...env }, stdio: 'inherit' });
    child.once('error', (error) => reject(new CommandError(error.message)));
    child.once('close', (code) => resolve(code ?? 1));
  });
}
