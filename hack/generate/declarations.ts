/** Finds the schema declarations: every file of `pkg/api/<group>/<version>/`, or of a group that has wire types only. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { KindDeclaration, PseudoGroup } from '#apimachinery/schema/schema.js';

export interface DeclarationFile {
  /** `core/v1/pod`, relative to `pkg/api`. */
  path: string;
  declaration: KindDeclaration;
}

export interface GroupVersionFiles {
  group: string;
  /** Empty for the pseudo groups. */
  version: string;
  /** `core/v1`, relative to `pkg/api`. */
  folder: string;
  files: DeclarationFile[];
}

export async function readDeclarations(sources: string, compiled: string): Promise<GroupVersionFiles[]> {
  const groups: GroupVersionFiles[] = [];
  for (const folder of declarationFolders(sources)) {
    const [group = '', version = ''] = folder.split('/');
    const files: DeclarationFile[] = [];
    for (const name of readdirSync(join(sources, folder)).sort()) {
      if (!name.endsWith('.ts') || name.endsWith('.gen.ts') || name.endsWith('.test.ts')) continue;
      const path = `${folder}/${name.slice(0, -3)}`;
      const module = (await import(pathToFileURL(join(compiled, `${path}.js`)).href)) as {
        declaration: KindDeclaration;
      };
      files.push({ path, declaration: module.declaration });
    }
    if (files.length > 0) groups.push({ group, version, folder, files });
  }
  return groups;
}

const withoutVersion: readonly string[] = ['intstr', 'resource', 'runtime'] satisfies PseudoGroup[];

function declarationFolders(sources: string): string[] {
  const folders: string[] = [];
  for (const group of readdirSync(sources, { withFileTypes: true })) {
    if (!group.isDirectory()) continue;
    if (withoutVersion.includes(group.name)) folders.push(group.name);
    for (const version of readdirSync(join(sources, group.name), { withFileTypes: true })) {
      if (version.isDirectory() && /^v\d/.test(version.name)) folders.push(`${group.name}/${version.name}`);
    }
  }
  return folders.sort();
}
