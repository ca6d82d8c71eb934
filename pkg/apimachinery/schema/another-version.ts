/** Declares a version of a kind by what it has in common with another one. */
import type {
  Deprecation,
  KindDeclaration,
  MessageDeclaration,
  ResourceDeclaration,
} from '#apimachinery/schema/schema.js';

export interface VersionDifferences {
  /** Where its objects are stored as those of the other version. */
  readonly storedAs: NonNullable<ResourceDeclaration['storedAs']>;
  readonly deprecation: Deprecation;
  /** Messages that are different, or that only this version has. */
  readonly types?: Readonly<Record<string, MessageDeclaration>>;
  /** Messages that this version does not have. */
  readonly without?: readonly string[];
  readonly docs?: Readonly<Record<string, string>>;
}

/** References to types of the other declaration's own group and version become references to this one's. */
export function anotherVersion(other: KindDeclaration, differences: VersionDifferences): KindDeclaration {
  const { storedAs, deprecation, types = {}, without = [], docs = {} } = differences;
  const kept = <T>(record: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(record).filter(([name]) => !without.includes(name)));
  return {
    ...other,
    types: { ...kept(other.types), ...types },
    docs: { ...kept(other.docs ?? {}), ...docs },
    resources: (other.resources ?? []).map((resource) => ({ ...resource, storedAs, deprecation })),
  };
}
