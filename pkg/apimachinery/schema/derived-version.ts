/** Declares a version of a kind by its differences from another version. */
import type {
  Deprecation,
  FieldDeclaration,
  KindDeclaration,
  MessageDeclaration,
  ResourceDeclaration,
} from '#apimachinery/schema/schema.js';

export interface VersionDifferences {
  /** The version in which its objects are stored. */
  readonly storedAs: NonNullable<ResourceDeclaration['storedAs']>;
  readonly deprecation: Deprecation;
  /** Changed or additional fields by message; undefined removes a field. */
  readonly fields?: Readonly<Record<string, Readonly<Record<string, FieldDeclaration | undefined>>>>;
  /** Messages only in this version. */
  readonly types?: Readonly<Record<string, MessageDeclaration>>;
  /** Messages that are granular here and atomic in the other version. */
  readonly granular?: readonly string[];
  /** Messages that this version lacks. */
  readonly without?: readonly string[];
}

/** References to types of the other group and version become references to this one. */
export function derivedVersion(other: KindDeclaration, differences: VersionDifferences): KindDeclaration {
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
