/** `make generate`: derives files from the schema declarations. Run by hack/generate.sh from the repository's root. */
import { readFileSync, writeFileSync } from 'node:fs';
import { readDeclarations } from './declarations.js';
import { resourcesFile, schemeFile } from './scheme.js';
import { typesFile } from './types.js';

const declarations = await readDeclarations('pkg/api', 'dist/pkg/api');
let changed = 0;
for (const gv of declarations) {
  write(`pkg/api/${gv.folder}/types.gen.ts`, typesFile(gv));
  const resources = resourcesFile(gv);
  if (resources !== undefined) write(`pkg/api/${gv.folder}/resources.gen.ts`, resources);
}
write('pkg/api/scheme.gen.ts', schemeFile(declarations));
console.log(`generated from ${declarations.length} groups and versions, ${changed} files changed`);

function write(path: string, text: string): void {
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
