/** Derives files from the schema declarations and the protocols' descriptions. Run by hack/generate-types.sh from the repository's root. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { readDeclarations } from './declarations.js';
import { protocolFile } from './protocols.js';
import { resourcesFile, schemeFile } from './scheme.js';
import { typesFile } from './types.js';

const root = 'pkg/api';
const protocols = 'pkg/nodeagent/protocols';
const declarations = await readDeclarations(root, join('dist', root));
const stale = new Set(
  [root, protocols]
    .flatMap((folder) => readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name))))
    .filter((path) => path.endsWith('.gen.ts')),
);
let changed = 0;
for (const gv of declarations) {
  write(`pkg/api/${gv.folder}/types.gen.ts`, typesFile(gv));
  const resources = resourcesFile(gv);
  if (resources !== undefined) write(`pkg/api/${gv.folder}/resources.gen.ts`, resources);
}
write('pkg/api/scheme.gen.ts', schemeFile(declarations));
for (const path of readdirSync(protocols).filter((name) => name.endsWith('.proto'))) {
  const name = basename(path, '.proto');
  write(join(protocols, `${name}.gen.ts`), protocolFile(name, readFileSync(join(protocols, path), 'utf8')));
}
// Files of deleted declarations, for example of another branch.
for (const path of stale) rmSync(path);
if (changed + stale.size > 0) console.log(`${changed} generated files changed, ${stale.size} removed`);

function write(path: string, text: string): void {
  stale.delete(path);
  if (readOrEmpty(path) === text) return;
  writeFileSync(path, text);
  changed++;
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
