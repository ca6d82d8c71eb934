/** Reads a bundle's manifests, since kubectl accepts all of them or none. */

import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';

const manifestFile = /\.(ya?ml|json)$/;
const unknownKind = /no matches for kind "([^"]+)" in version "([^"]+)"/g;

/** `VERSION KIND` of the kinds that the server lacks, from kubectl's errors. */
export function unknownKinds(stderr: string): ReadonlySet<string> {
  return new Set([...stderr.matchAll(unknownKind)].map(([, kind, version]) => `${version} ${kind}`));
}

/** The objects in YAML documents and lists, except objects of the kinds in `without`. Pure. */
export function objectsIn(text: string, without: ReadonlySet<string>): JsonObject[] {
  const documents = parseAllDocuments(text, { merge: true });
  const values: unknown[] = Array.isArray(documents) ? documents.map((document) => document.toJS()) : [];
  return values
    .filter(isJsonObject)
    .flatMap((value) => (Array.isArray(value['items']) ? value['items'].filter(isJsonObject) : [value]))
    .filter(({ apiVersion, kind }) => !without.has(`${String(apiVersion)} ${String(kind)}`));
}

/** The texts of the manifests at `path`, a file or a folder read recursively, like kubectl. */
export async function manifestTexts(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [await readFile(path, 'utf8')];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && manifestFile.test(entry.name));
  return Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')));
}
