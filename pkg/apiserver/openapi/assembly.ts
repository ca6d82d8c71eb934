/** Puts a document together from its units. */
import { isNotFound } from '#apimachinery/errors/status.js';
import type { ForeignPart } from '#apiserver/openapi/aggregated-documents.js';
import type { DocumentFormat, DocumentInfo } from '#apiserver/openapi/format.js';
import type { Unit, Units } from '#apiserver/openapi/units.js';
import { type Packed, PackedRow, wrap } from '#apiserver/representation/gzip-document.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

export interface DocumentContents {
  /** Tells the built-in resources from those of other documents. */
  readonly key: string;
  readonly builtIn: readonly ServedResource[];
  readonly custom: readonly ServedResource[];
  readonly foreign: readonly ForeignPart[];
}

/** As of now: resources that go meanwhile are left out. */
export async function assembled(
  units: Units,
  format: DocumentFormat,
  info: DocumentInfo,
  { key, builtIn, custom, foreign }: DocumentContents,
): Promise<PackedRow> {
  const found: Unit[] = [];
  const there = new Set<string>();
  if (builtIn.length > 0) {
    const unit = await units.builtIn(key, builtIn, format);
    found.push(unit);
    for (const name of unit.names) there.add(name);
  }
  const missing = new Set<string>();
  for (const resource of custom) {
    const unit = await unless(isNotFound, units.custom(resource, format));
    if (unit === undefined) continue;
    found.push(unit);
    for (const name of unit.shared) if (!there.has(name)) missing.add(name);
  }
  if (missing.size > 0) found.push(await units.shared([...missing].sort(), format));
  for (const part of foreign) found.push(await units.foreign(part, format, there));
  const paths = separated(
    found.map((unit) => unit.paths),
    format.separator,
  );
  const schemas = separated(
    found.map((unit) => unit.schemas),
    format.separator,
  );
  const [head, middle, tail] = format.frame(info, { paths: lengthOf(paths), schemas: lengthOf(schemas) });
  return PackedRow.of([wrap(head), ...paths, wrap(middle), ...schemas, wrap(tail)], units.turns);
}

async function unless<T>(isExpected: (error: unknown) => boolean, work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isExpected(error)) return undefined;
    throw error;
  }
}

function separated(all: readonly Packed[], separator: Buffer): Packed[] {
  const filled = all.filter(({ length }) => length > 0);
  if (separator.length === 0) return filled;
  const between = wrap(separator);
  return filled.flatMap((packed, i) => (i === 0 ? [packed] : [between, packed]));
}

function lengthOf(all: readonly Packed[]): number {
  return all.reduce((sum, { length }) => sum + length, 0);
}
