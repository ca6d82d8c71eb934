/** Files that options name. */

import { readFile } from 'node:fs/promises';
import { messageOf } from '#apimachinery/errors/message.js';
import { OptionsError } from '#daemon/options/errors.js';

/** The file's text. Throws OptionsError that names the option. */
export async function readOptionFile(option: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new OptionsError([`--${option}: ${messageOf(error)}`]);
  }
}

/** The same, or undefined when the option is not given. */
export async function readOptionalFile(option: string, path: string | undefined): Promise<string | undefined> {
  return path === undefined || path === '' ? undefined : readOptionFile(option, path);
}

/** Runs `make`; what it cannot use of an option's value becomes an OptionsError that names the option. */
export function forOption<T>(option: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw new OptionsError([`--${option}: ${messageOf(error)}`]);
  }
}
