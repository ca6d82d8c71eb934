/** Fails for cycles of imports among the files or the folders of the packages named: `pkg/nodeagent …`. */
import { type Cycle, fileCycles, folderCycles } from './cycles.js';
import { readImports } from './imports.js';

/** Imports shown of each cycle. */
const shown = 40;

function describe(kind: string, { members, imports }: Cycle): string {
  const lines = imports.slice(0, shown).map(({ from, to }) => `    ${from} → ${to}`);
  if (imports.length > shown) lines.push(`    and ${imports.length - shown} more`);
  return [`cycle of ${kind}: ${members.join(', ')}`, ...lines].join('\n');
}

const folders = process.argv.slice(2);
const imports = await readImports();
const found = folders.flatMap((folder) => [
  ...fileCycles(folder, imports).map((cycle) => describe('files', cycle)),
  ...folderCycles(folder, imports).map((cycle) => describe('folders', cycle)),
]);
for (const text of found) console.error(text);
console.log(`${found.length} cycles of imports in ${folders.join(', ')}`);
process.exitCode = found.length === 0 ? 0 : 1;
