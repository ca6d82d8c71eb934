/** Declares a version of a kind by what it has in common with another one. */
import type {
  Deprecation,
  FieldDeclaration,
  KindDeclaration,
  MessageDeclaration,
  ResourceDeclaration,
} from '#apimachinery/schema/schema.js';

export interface VersionDifferences {
  /** Where its objects are stored as those of the other version. */
  readonly storedAs: NonNullable<ResourceDeclaration['storedAs']>;
  readonly deprecation: Deprecation;
  /** Fields that are different or that only this version has, by message; undefined: a field that it does not have. */
  readonly fields?: Readonly<Record<string, Readonly<Record<string, FieldDeclaration | undefined>>>>;
  /** Messages that only this version has. */
  readonly types?: Readonly<Record<string, MessageDeclaration>>;
  /** Messages that are merged part by part, though the other version has them as one value. */
  readonly granular?: readonly string[];
  /** Messages that this version does not have. */
  readonly without?: readonly string[];
}

/** References to types of the other declaration's own group and version become references to this one's. */
export function anotherVersion(other: KindDeclaration, differences: VersionDifferences): KindDeclaration {
  const { storedAs, deprecation, fields = {}, types = {}, granular = [], without = [] } = differences;
  const kept = Object.entries(other.types)
    .filter(([name]) => !without.includes(name))
    .map(([name, message]) => {
      const { atomic, ...rest } = withFields(message, fields[name] ?? {});
      return [name, atomic === undefined || granular.includes(name) ? rest : { ...rest, atomic }];
    });
  return {
    ...other,
    types: { ...Object.fromEntries(kept), ...types },
    resources: (other.resources ?? []).map((resource) => ({ ...resource, storedAs, deprecation })),
  };
}

function withFields(
  message: MessageDeclaration,
  changes: Readonly<Record<string, FieldDeclaration | undefined>>,
): MessageDeclaration {
  const changed = Object.entries({ ...message.fields, ...changes }).filter(([, field]) => field !== undefined);
  return { ...message, fields: Object.fromEntries(changed) as MessageDeclaration['fields'] };
}
