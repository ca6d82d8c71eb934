/**
 * Fails for cycles of imports among the files or the folders of the packages named (`pkg/nodeagent …`), and for imports
 * that go up and for state of modules anywhere in the product.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Cycle, fileCycles, folderCycles } from './cycles.js';
import { readImports } from './imports.js';
import { upwardImports } from './layers.js';
import { moduleState } from './module-state.js';
import { exceptions } from './module-state-exceptions.js';

/** Imports shown of each cycle. */
const shown = 40;

function describe(kind: string, { members, imports }: Cycle): string {
  const lines = imports.slice(0, shown).map(({ from, to }) => `    ${from} → ${to}`);
  if (imports.length > shown) lines.push(`    and ${imports.length - shown} more`);
  return [`cycle of ${kind}: ${members.join(', ')}`, ...lines].join('\n');
}

/** Sources of the product; programs' own main files live as long as the process. */
async function productSources(): Promise<string[]> {
  const lists = await Promise.all(
    ['cmd', 'pkg'].map(async (root) =>
      (await readdir(root, { recursive: true })).map((name) => join(root, name)).filter((path) => path.endsWith('.ts')),
    ),
  );
  const isTest = (path: string) => path.endsWith('.test.ts') || path.includes('/testing/');
  return lists.flat().filter((path) => !isTest(path) && !/^cmd\/[^/]+\/main\.ts$/.test(path));
}

async function statesOfModules(): Promise<string[]> {
  const unused = new Set(Object.keys(exceptions));
  const found: string[] = [];
  for (const path of await productSources()) {
    for (const { name, line } of moduleState(await readFile(path, 'utf8'))) {
      if (!unused.delete(`${path} ${name}`)) found.push(`state of a module: ${name} at ${path}:${line}`);
    }
  }
  return [...found, ...[...unused].map((key) => `exception without its state: ${key}`)];
}

const folders = process.argv.slice(2);
const imports = await readImports();
const cycles = folders.flatMap((folder) => [
  ...fileCycles(folder, imports).map((cycle) => describe('files', cycle)),
  ...folderCycles(folder, imports).map((cycle) => describe('folders', cycle)),
]);
const upward = upwardImports(imports).map(({ from, to }) => `no way up: ${from} → ${to}`);
const states = await statesOfModules();
const failures = [...cycles, ...upward, ...states];
for (const text of failures) console.error(text);
console.log(
  `${imports.length} imports: ${cycles.length} cycles, ${upward.length} upwards; ${states.length} states of modules`,
);
process.exitCode = failures.length === 0 ? 0 : 1;
