import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '#test/e2e/harness.js';

/** The commands that a page tells its readers to run. @param page Below `docs`: `join.md`. */
export function documentedCommands(page: string): string[] {
  const blocks = readFileSync(join(root, 'docs', page), 'utf8').matchAll(/```sh\n([\s\S]*?)```/g);
  return [...blocks].flatMap(([, block = '']) => block.trim().split('\n')).filter((line) => line.startsWith('bin/'));
}
