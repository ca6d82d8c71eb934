/**
 * Fails for cycles of imports among the files or the folders of each room and each program, for imports that go up, for
 * state of modules and look-ups of frozen objects in the product, and for exports without an import.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Cycle, fileCycles, folderCycles } from './cycles.js';
import { directTime, idleAdapters } from './direct-time.js';
import { readImports } from './imports.js';
import { untangled, upwardImports, wrongSubpaths } from './layers.js';
import { moduleState } from './module-state.js';
import { exceptions } from './module-state-exceptions.js';
import { resolver, type Subpaths, unusedExports, withPages } from './unused-exports.js';
import { wordFaults } from './words.js';

/** Imports shown of each cycle. */
const shown = 40;

function describe(kind: string, { members, imports }: Cycle): string {
  const lines = imports.slice(0, shown).map(({ from, to }) => `    ${from} → ${to}`);
  if (imports.length > shown) lines.push(`    and ${imports.length - shown} more`);
  return [`cycle of ${kind}: ${members.join(', ')}`, ...lines].join('\n');
}

const roots = ['cmd', 'hack', 'pkg', 'test'];

/** All sources by path; generated ones are among them. */
async function readSources(): Promise<Map<string, string>> {
  const lists = await Promise.all(
    roots.map(async (root) => (await readdir(root, { recursive: true })).map((name) => join(root, name))),
  );
  const paths = lists.flat().filter((path) => /\.tsx?$/.test(path));
  return new Map(
    await Promise.all(paths.map(async (path): Promise<[string, string]> => [path, await readFile(path, 'utf8')])),
  );
}

/** What the bundler of pages puts in the place of Node.js' own. */
function isBundled(path: string): boolean {
  return /^pkg\/dashboard\/client\/platform\/(?:buffer|no-crypto)\.ts$/.test(path);
}

/** True for sources of the product. The main file of a program may have state, because it lives as long as the process. */
function isProduct(path: string): boolean {
  if (!/^(?:cmd|pkg)\//.test(path) || path.endsWith('.test.ts') || path.includes('/testing/')) return false;
  return !/^cmd\/[^/]+\/main\.ts$/.test(path);
}

function statesOfModules(sources: ReadonlyMap<string, string>): string[] {
  const unused = new Set(Object.keys(exceptions));
  const violations: string[] = [];
  for (const [path, text] of sources) {
    if (!isProduct(path)) continue;
    for (const { name, line } of moduleState(text)) {
      if (!unused.delete(`${path} ${name}`)) violations.push(`state of a module: ${name} at ${path}:${line}`);
    }
  }
  return [...violations, ...[...unused].map((key) => `exception without its state: ${key}`)];
}

/** Types decide what code may write; only one file looks at run time, and says why. */
function looksForFrozen(sources: ReadonlyMap<string, string>): string[] {
  return [...sources]
    .filter(
      ([path, text]) => isProduct(path) && path !== 'pkg/apimachinery/freeze.ts' && text.includes('Object.isFrozen'),
    )
    .map(([path]) => `looks for frozen objects at run time: ${path}`);
}

function processTime(sources: ReadonlyMap<string, string>): string[] {
  const uses = [...sources].flatMap(([path, text]) =>
    isProduct(path)
      ? directTime(path, text).map(
          (use) => `${path} uses ${use}: take a clock or a source of chance through the constructor`,
        )
      : [],
  );
  return [
    ...uses,
    ...idleAdapters(sources).map((path) => `${path} is no adapter of time: strike it from hack/lint/direct-time.ts`),
  ];
}

function wordsToReplace(sources: ReadonlyMap<string, string>): string[] {
  return [...sources].flatMap(([path, source]) =>
    path.startsWith('hack/lint/words') || path.endsWith('.gen.ts')
      ? []
      : wordFaults(source).map(
          ({ line, text }) => `${path}:${line} says "${text}": name the noun of the field (docs/glossary.md)`,
        ),
  );
}

const { imports: subpaths } = JSON.parse(await readFile('package.json', 'utf8')) as { imports: Subpaths };
const [imports, sources, programs] = await Promise.all([readImports(), readSources(), readdir('cmd')]);
const cycles = untangled(programs).flatMap((folder) => [
  ...fileCycles(folder, imports).map((cycle) => describe('files', cycle)),
  ...folderCycles(folder, imports).map((cycle) => describe('folders', cycle)),
]);
const rooms = wrongSubpaths(subpaths).map((name) => `imports of package.json: ${name} is not as the rooms are`);
const upward = upwardImports(imports).map(({ from, to }) => `no way up: ${from} → ${to}`);
const states = statesOfModules(sources);
const unused = unusedExports(sources, {
  resolve: withPages(resolver(subpaths), sources),
  // Generators write exports for any importer; the bundler puts the other one in the place of a global.
  isRoot: (path) => path.endsWith('.gen.ts') || isBundled(path),
}).map(({ path, name }) => `${path}: the export ${name} has no importer`);
const failures = [
  ...cycles,
  ...rooms,
  ...upward,
  ...states,
  ...unused,
  ...looksForFrozen(sources),
  ...processTime(sources),
  ...wordsToReplace(sources),
];
for (const text of failures) console.error(text);
console.log(
  `${imports.length} imports: ${cycles.length} cycles, ${upward.length} upwards; ${states.length} states of modules; ` +
    `${unused.length} unused exports`,
);
process.exitCode = failures.length === 0 ? 0 : 1;
