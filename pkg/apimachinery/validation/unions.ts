/** Checks messages with exactly one member set, by their declarations. */
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { listed } from '#apimachinery/schema/descriptions.js';
import type { MessageDeclaration } from '#apimachinery/schema/schema.js';
import { forbiddenField, invalidValue, none, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

type Name<T> = keyof T & string;

/**
 * Returns the set members of the union in declaration order. An empty member without pointer counts as unset. Throws a
 * RangeError if the type is not a union. Create it once.
 */
export function membersOf<T extends object>(type: MessageDeclaration): (message: T) => readonly Name<T>[] {
  const members = memberNames<T>(type);
  const loose: ReadonlySet<string> = new Set(members.filter((name) => type.fields[name]?.pointer !== true));
  // Nearly always exactly one member is set; this case allocates no lists.
  const alone = new Map<string, readonly Name<T>[]>(members.map((name) => [name, [name]]));
  return (message) => {
    let setMembers: readonly Name<T>[] = empty;
    // Iterates over the message, which has fewer fields than the union has members.
    for (const name in message) {
      const only = alone.get(name);
      if (only === undefined) continue;
      const value: unknown = message[name];
      if (value !== undefined && !(loose.has(name) && isEmpty(value))) {
        setMembers = setMembers.length === 0 ? only : [...setMembers, ...only];
      }
    }
    return setMembers.length > 1 ? members.filter((name) => setMembers.includes(name)) : setMembers;
  };
}

/**
 * Tells whether a field and one that it excludes are both set. Throws a RangeError if it excludes none. Create it once.
 */
export function clashOf<T extends object>(type: MessageDeclaration, name: Name<T>): (message: T) => boolean {
  const { excludes } = type.fields[name] ?? {};
  if (excludes === undefined) throw new RangeError(`${name} excludes nothing`);
  const isSet = (message: T, field: Name<T>): boolean => {
    const value: unknown = message[field];
    return value !== undefined && (type.fields[field]?.pointer === true || !isEmpty(value));
  };
  return (message) => isSet(message, name) && excludes.some((other) => isSet(message, other as Name<T>));
}

/** Names of the members; throws a RangeError if the type is not a union. */
export function memberNames<T extends object>({ union }: MessageDeclaration): readonly Name<T>[] {
  if (union === undefined) throw new RangeError('the message is no union');
  return union as readonly Name<T>[];
}

const empty: readonly never[] = [];

function isEmpty(value: unknown): boolean {
  return value === '' || value === 0 || value === false || (Array.isArray(value) && value.length === 0);
}

/** The checks of each member of a union. `C` is their additional context. */
export type MemberChecks<T, C = undefined> = {
  readonly [K in Name<T>]-?: (member: NonNullable<T[K]>, path: FieldPath, context: C) => readonly FieldFailure[];
};

/** Names of members in 1.24's messages, if they differ: for failures inside, and for an excess member. */
export interface OtherNames<T> {
  readonly inside?: { readonly [K in Name<T>]?: string };
  readonly beside?: { readonly [K in Name<T>]?: string };
  /** Members that are also checked next to another one, as 1.24 does for some. */
  readonly tolerated?: readonly Name<T>[];
}

/**
 * Checks that exactly one member is set, and validates the first; reports all others as excess. `noun` names the
 * members in messages: `volume type`.
 */
export function exactlyOne<T extends object, C = undefined>(
  type: MessageDeclaration,
  noun: string,
  checks: MemberChecks<T, C>,
  { inside = {}, beside = {}, tolerated = [] }: OtherNames<T> = {},
): (message: T, path: FieldPath, context: C) => readonly FieldFailure[] {
  const membersIn = membersOf<T>(type);
  return (message, path, context) => {
    const setMembers = membersIn(message);
    const first = setMembers[0];
    if (first === undefined) return [required(path, `must specify a ${noun}`)];
    const check = (name: Name<T>) => checkMember(message, name, checks, path.child(inside[name] ?? name), context);
    const failures = check(first);
    if (setMembers.length === 1) return failures;
    const text = `may not specify more than 1 ${noun}`;
    const ofOthers = setMembers
      .slice(1)
      .flatMap((name) =>
        tolerated.includes(name) ? check(name) : [forbiddenField(path.child(beside[name] ?? name), text)],
      );
    return [...failures, ...ofOthers];
  };
}

/** Messages for a union with no member set and with several; `names` are its members. */
export interface UnionWording {
  missing(path: FieldPath, names: readonly string[]): FieldFailure;
  several(path: FieldPath, names: readonly string[]): FieldFailure;
}

/** Two wordings that 1.24 uses repeatedly. */
export const pairWording: UnionWording = {
  missing: (path, names) => required(path, `one of ${names.join(' and ')} is required`),
  several: (path, names) =>
    invalidValue(path, 'resource', `${names.join(' and ')} can not be specified simultaneously`),
};
export const listWording: UnionWording = {
  missing: (path, names) => invalidValue(path, '', `must specify one of: ${listed(names)}`),
  several: (path) => invalidValue(path, '', 'may not have more than one field specified at a time'),
};

/** Checks that exactly one member is set, without validating it. */
export function oneMember<T extends object>(
  type: MessageDeclaration,
  { missing, several }: UnionWording,
): (message: T, path: FieldPath) => readonly FieldFailure[] {
  const membersIn = membersOf<T>(type);
  const names = memberNames(type);
  return (message, path) => {
    const { length } = membersIn(message);
    return length === 1 ? none : [length === 0 ? missing(path, names) : several(path, names)];
  };
}

/** Validates a member that is set. */
export function checkMember<T extends object, K extends Name<T>, C>(
  message: T,
  name: K,
  checks: MemberChecks<T, C>,
  path: FieldPath,
  context: C,
): readonly FieldFailure[] {
  return checks[name](message[name] as NonNullable<T[K]>, path, context);
}
