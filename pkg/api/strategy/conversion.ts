/**
 * Versions of a kind are views of the same objects, which are stored in the form of one version. All others convert
 * from and to the stored form; a conversion between two of them goes through it.
 */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Dialect, GroupKey } from '#apimachinery/dialect.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';

/** `T`: this version's form; `S`: the stored form. The functions modify no argument; results may share its parts. */
export interface Conversion<T extends ApiObjectShape = ApiObjectShape, S extends ApiObjectShape = ApiObjectShape> {
  toStored(object: T, scheme: Scheme): S;
  fromStored(stored: S, scheme: Scheme): T;
}

interface Version {
  readonly group: GroupKey;
  readonly version: string;
}

/** The conversion between versions that differ only in `apiVersion`. */
export function renamed<T extends ApiObjectShape, S extends ApiObjectShape>(
  own: Version,
  stored: Version,
): Conversion<T, S> {
  const as = (object: ApiObjectShape, { group, version }: Version, dialect: Dialect): ApiObjectShape => ({
    ...object,
    apiVersion: dialect.apiVersion(group, version),
  });
  return {
    toStored: (object, { dialect }) => as(object, stored, dialect) as S,
    fromStored: (object, { dialect }) => as(object, own, dialect) as T,
  };
}
