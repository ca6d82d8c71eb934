/** Writes the typed resource constants of one group and version, and the list of all declarations. */
import type { GroupVersionFiles } from './declarations.js';
import { generatedHeader } from './types.js';

/** Undefined when the group and version serve no resource. */
export function resourcesFile(gv: GroupVersionFiles): string | undefined {
  const imports: string[] = [];
  const types = new Set<string>();
  const lines: string[] = [];
  const declared = new Set(gv.files.flatMap((f) => Object.keys(f.declaration.types)));
  for (const file of gv.files) {
    const resources = file.declaration.resources ?? [];
    if (resources.length === 0) continue;
    const alias = identifier(file.path);
    imports.push(`import { declaration as ${alias} } from '#api/${file.path}.js';`);
    for (const [index, resource] of resources.entries()) {
      if (!declared.has(resource.kind)) throw new Error(`${file.path}: kind ${resource.kind} is not declared`);
      types.add(resource.kind);
      lines.push(
        `export const ${resource.resource}: ResourceType<${resource.kind}> = {`,
        `  group: '${gv.group}',`,
        `  version: '${gv.version}',`,
        `  ...${alias}.resources?.[${index}],`,
        `} as ResourceType<${resource.kind}>;`,
        '',
      );
    }
  }
  if (lines.length === 0) return undefined;
  return [
    generatedHeader,
    "import type { ResourceType } from '#apimachinery/schema/schema.js';",
    ...imports,
    `import type { ${[...types].sort((a, b) => (a < b ? -1 : 1)).join(', ')} } from '#api/${gv.folder}/types.gen.js';`,
    '',
    ...lines,
  ].join('\n');
}

export function schemeFile(all: GroupVersionFiles[]): string {
  const imports = all.flatMap((gv) =>
    gv.files.map((f) => `import { declaration as ${identifier(f.path)} } from '#api/${f.path}.js';`),
  );
  const entries = all.map(
    (gv) =>
      `  { group: '${gv.group}', version: '${gv.version}', kinds: [${gv.files.map((f) => identifier(f.path)).join(', ')}] },`,
  );
  return [
    generatedHeader,
    "import type { GroupVersionDeclaration } from '#apimachinery/schema/schema.js';",
    ...imports,
    '',
    '/** Every declaration of the API, by group and version. */',
    'export const groupVersions: readonly GroupVersionDeclaration[] = [',
    ...entries,
    '];',
    '',
  ].join('\n');
}

function identifier(path: string): string {
  return path.replace(/[/.-](\w)/g, (_match, letter: string) => letter.toUpperCase());
}
