/** Files that options name. */

import { messageOf } from '#apimachinery/errors/message.js';
import { textOf } from '#daemon/certificates/followed-file.js';
import { OptionsError } from '#daemon/options/option.js';

/** The file's text, or undefined when the option is not given. Throws OptionsError that names the option. */
export async function readOptionalFile(option: string, path: string | undefined): Promise<string | undefined> {
  return path === undefined || path === '' ? undefined : textOf(option, path);
}

/** Runs `make`; what it cannot use of an option's value becomes an OptionsError that names the option. */
export function forOption<T>(option: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw new OptionsError([`--${option}: ${messageOf(error)}`]);
  }
}
