/** What manifests of a bundle say, where kubectl takes all or nothing. */

import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';

const manifestFile = /\.(ya?ml|json)$/;
const unknownKind = /no matches for kind "([^"]+)" in version "([^"]+)"/g;

/** `VERSION KIND` of the kinds that the server does not have, as kubectl complains of them. */
export function unknownKinds(stderr: string): ReadonlySet<string> {
  return new Set([...stderr.matchAll(unknownKind)].map(([, kind, version]) => `${version} ${kind}`));
}

/** The objects of a text of several documents, of which some are lists, but for those of these kinds. Pure. */
export function objectsIn(text: string, without: ReadonlySet<string>): JsonObject[] {
  const documents = parseAllDocuments(text, { merge: true });
  const values: unknown[] = Array.isArray(documents) ? documents.map((document) => document.toJS()) : [];
  return values
    .filter(isJsonObject)
    .flatMap((value) => (Array.isArray(value['items']) ? value['items'].filter(isJsonObject) : [value]))
    .filter(({ apiVersion, kind }) => !without.has(`${String(apiVersion)} ${String(kind)}`));
}

/** The texts of the manifests at `path`, a file or a folder with folders, as kubectl reads them. */
export async function manifestTexts(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [await readFile(path, 'utf8')];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && manifestFile.test(entry.name));
  return Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')));
}
