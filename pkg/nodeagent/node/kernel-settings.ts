/** The kernel settings that a node agent counts on, as release 1.24 has them. */
import { messageOf } from '#apimachinery/errors/message.js';

/** Below `/proc/sys/` → value. */
export const expectedKernelSettings: Readonly<Record<string, string>> = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
};

/** One message for each setting that is another one. `read` gives a setting's text, or rejects where there is none. */
export async function kernelSettingErrors(read: (name: string) => Promise<string>): Promise<string[]> {
  const found = await Promise.all(
    Object.entries(expectedKernelSettings).map(async ([name, expected]) => {
      const actual = await read(name).then(
        (text) => text.trim(),
        (error: unknown) => messageOf(error),
      );
      const message = `invalid kernel flag: ${name}, expected value: ${expected}, actual value: ${actual}`;
      return actual === expected ? [] : [message];
    }),
  );
  return found.flat();
}
