/** Keeps what the compiler makes of programs, so that each start after the first is faster. */
import * as nodeModule from 'node:module';
import { dirname, join } from 'node:path';

/** Since Node.js 22.1, which the types do not know. */
interface CompileCache {
  enableCompileCache?(folder: string): unknown;
}

/**
 * Acts on the modules that are loaded from now on. Without the right to write, nothing is kept.
 * @param main Path of the running program: below `dist`, in a folder of programs.
 */
export function keepCompiled(main: string): void {
  const dist = dirname(dirname(dirname(main)));
  (nodeModule as CompileCache).enableCompileCache?.(join(dist, 'compile-cache'));
}
