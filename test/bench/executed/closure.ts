/** Which files a compiled file loads, by its own imports and by theirs. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = fileURLToPath(new URL('../../../', import.meta.url));
const require = createRequire(import.meta.url);

/** @param file below `dist/`. Types are no imports any more. */
export function importClosure(file: string): readonly string[] {
  const seen = new Set<string>();
  const open = [file];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    const text = readFileSync(`${dist}${next}`, 'utf8');
    for (const [, name = ''] of text.matchAll(/^(?:import|export)\b[^;]*?\bfrom\s+'(#[^']+)';$/gm)) {
      open.push(relative(dist, require.resolve(name)));
    }
  }
  return [...seen];
}
