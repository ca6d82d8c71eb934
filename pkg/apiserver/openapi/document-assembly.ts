/** Assembles a document from its fragments. */
import { isNotFound } from '#apimachinery/errors/status.js';
import type { ForeignPart } from '#apiserver/openapi/aggregated-documents.js';
import type { DocumentFormat, DocumentInfo } from '#apiserver/openapi/document-formats.js';
import type { Fragment, Fragments } from '#apiserver/openapi/document-fragments.js';
import { type DeflatedPart, GzipDocument, storePart } from '#apiserver/representation/gzip-document.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

export interface DocumentContents {
  /** Distinguishes the built-in resources of this document. */
  readonly key: string;
  readonly builtIn: readonly ServedResource[];
  readonly custom: readonly ServedResource[];
  readonly foreign: readonly ForeignPart[];
}

/** Leaves out resources that disappear meanwhile. */
export async function assembled(
  units: Fragments,
  format: DocumentFormat,
  info: DocumentInfo,
  { key, builtIn, custom, foreign }: DocumentContents,
): Promise<GzipDocument> {
  const fragments: Fragment[] = [];
  const usedNames = new Set<string>();
  if (builtIn.length > 0) {
    const unit = await units.builtIn(key, builtIn, format);
    fragments.push(unit);
    for (const name of unit.names) usedNames.add(name);
  }
  const sharedNames = new Set<string>();
  for (const resource of custom) {
    const unit = await unless(isNotFound, units.custom(resource, format));
    if (unit === undefined) continue;
    fragments.push(unit);
    for (const name of unit.shared) if (!usedNames.has(name)) sharedNames.add(name);
  }
  if (sharedNames.size > 0) fragments.push(await units.shared([...sharedNames].sort(), format));
  for (const part of foreign) fragments.push(await units.foreign(part, format, usedNames));
  const paths = separated(
    fragments.map((unit) => unit.paths),
    format.separator,
  );
  const schemas = separated(
    fragments.map((unit) => unit.schemas),
    format.separator,
  );
  const [head, middle, tail] = format.frame(info, { paths: lengthOf(paths), schemas: lengthOf(schemas) });
  return GzipDocument.of([storePart(head), ...paths, storePart(middle), ...schemas, storePart(tail)], units.turns);
}

async function unless<T>(isExpected: (error: unknown) => boolean, work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isExpected(error)) return undefined;
    throw error;
  }
}

function separated(all: readonly DeflatedPart[], separator: Buffer): DeflatedPart[] {
  const filled = all.filter(({ length }) => length > 0);
  if (separator.length === 0) return filled;
  const between = storePart(separator);
  return filled.flatMap((packed, i) => (i === 0 ? [packed] : [between, packed]));
}

function lengthOf(all: readonly DeflatedPart[]): number {
  return all.reduce((sum, { length }) => sum + length, 0);
}
