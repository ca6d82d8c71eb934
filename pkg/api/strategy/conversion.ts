/**
 * Several versions of a kind are views of the same objects, which are stored in the form of one of them. The other ones
 * convert from and to that form: a conversion between any two of them goes through it.
 */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Dialect, GroupKey } from '#apimachinery/dialect.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';

/** `T` is the object as one version has it, `S` as it is stored. Neither function changes its argument, with which the result may share parts. */
export interface Conversion<T extends ApiObjectShape = ApiObjectShape, S extends ApiObjectShape = ApiObjectShape> {
  toStored(object: T, scheme: Scheme): S;
  fromStored(stored: S, scheme: Scheme): T;
}

interface Version {
  readonly group: GroupKey;
  readonly version: string;
}

/** Of versions whose objects differ in nothing but their `apiVersion`. */
export function renamed<T extends ApiObjectShape, S extends ApiObjectShape>(
  of: Version,
  stored: Version,
): Conversion<T, S> {
  const as = (object: ApiObjectShape, { group, version }: Version, dialect: Dialect): ApiObjectShape => ({
    ...object,
    apiVersion: dialect.apiVersion(group, version),
  });
  return {
    toStored: (object, { dialect }) => as(object, stored, dialect) as S,
    fromStored: (object, { dialect }) => as(object, of, dialect) as T,
  };
}
