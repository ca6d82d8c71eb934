/** Reads files that options name. */
import { messageOf } from '#apimachinery/errors/message.js';
import { textOf } from '#daemon/certificates/followed-file.js';
import { OptionsError } from '#daemon/options/option.js';

/** Undefined without the option. Throws OptionsError that names the option. */
export async function readOptionalFile(option: string, path: string | undefined): Promise<string | undefined> {
  return path === undefined || path === '' ? undefined : textOf(option, path);
}

/** Runs `make`; an error becomes an OptionsError that names the option. */
export function forOption<T>(option: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw new OptionsError([`--${option}: ${messageOf(error)}`]);
  }
}
