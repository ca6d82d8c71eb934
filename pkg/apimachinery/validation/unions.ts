/** Checks of messages of which one member is set, by their declarations. */
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { listed } from '#apimachinery/schema/described.js';
import type { MessageDeclaration } from '#apimachinery/schema/schema.js';
import { forbiddenField, invalidValue, none, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

type Name<T> = keyof T & string;

/**
 * Tells which members of the union a message has, in the order of their declaration. A member that is no pointer is not
 * there when it is empty. Throws a RangeError when the type is no union. Make it once.
 */
export function membersOf<T extends object>(type: MessageDeclaration): (message: T) => readonly Name<T>[] {
  const members = memberNames<T>(type);
  const loose: ReadonlySet<string> = new Set(members.filter((name) => type.fields[name]?.pointer !== true));
  // Nearly always one is set, so that this makes no lists.
  const alone = new Map<string, readonly Name<T>[]>(members.map((name) => [name, [name]]));
  return (message) => {
    let found: readonly Name<T>[] = empty;
    // What a message has is little, what it could have is much.
    for (const name in message) {
      const only = alone.get(name);
      if (only === undefined) continue;
      const value: unknown = message[name];
      if (value !== undefined && !(loose.has(name) && isEmpty(value))) {
        found = found.length === 0 ? only : [...found, ...only];
      }
    }
    return found.length > 1 ? members.filter((name) => found.includes(name)) : found;
  };
}

/** Tells whether a field is set beside one that it excludes. Throws a RangeError when it excludes none. Make it once. */
export function clashOf<T extends object>(type: MessageDeclaration, name: Name<T>): (message: T) => boolean {
  const { excludes } = type.fields[name] ?? {};
  if (excludes === undefined) throw new RangeError(`${name} excludes nothing`);
  const isSet = (message: T, field: Name<T>): boolean => {
    const value: unknown = message[field];
    return value !== undefined && (type.fields[field]?.pointer === true || !isEmpty(value));
  };
  return (message) => isSet(message, name) && excludes.some((other) => isSet(message, other as Name<T>));
}

/** Names of the members; throws a RangeError when the type is no union. */
export function memberNames<T extends object>({ union }: MessageDeclaration): readonly Name<T>[] {
  if (union === undefined) throw new RangeError('the message is no union');
  return union as readonly Name<T>[];
}

const empty: readonly never[] = [];

function isEmpty(value: unknown): boolean {
  return value === '' || value === 0 || value === false || (Array.isArray(value) && value.length === 0);
}

/** Looks into each member of a union. `C` is what it must know besides. */
export type MemberChecks<T, C = undefined> = {
  readonly [K in Name<T>]-?: (member: NonNullable<T[K]>, path: FieldPath, context: C) => readonly FieldFailure[];
};

/** What 1.24 calls members, where that is not their names: when it looks into one, and when one is too many. */
export interface OtherNames<T> {
  readonly inside?: { readonly [K in Name<T>]?: string };
  readonly beside?: { readonly [K in Name<T>]?: string };
  /** Members that are looked into also beside another one, as 1.24 does with some. */
  readonly tolerated?: readonly Name<T>[];
}

/**
 * Checks that one member is set, and only the first of several is looked into: any further one is one too many. `noun` is
 * what messages call the members, `volume type`.
 */
export function exactlyOne<T extends object, C = undefined>(
  type: MessageDeclaration,
  noun: string,
  checks: MemberChecks<T, C>,
  { inside = {}, beside = {}, tolerated = [] }: OtherNames<T> = {},
): (message: T, path: FieldPath, context: C) => readonly FieldFailure[] {
  const membersIn = membersOf<T>(type);
  return (message, path, context) => {
    const found = membersIn(message);
    const first = found[0];
    if (first === undefined) return [required(path, `must specify a ${noun}`)];
    const check = (name: Name<T>) => checkMember(message, name, checks, path.child(inside[name] ?? name), context);
    const failures = check(first);
    if (found.length === 1) return failures;
    const text = `may not specify more than 1 ${noun}`;
    const ofOthers = found
      .slice(1)
      .flatMap((name) =>
        tolerated.includes(name) ? check(name) : [forbiddenField(path.child(beside[name] ?? name), text)],
      );
    return [...failures, ...ofOthers];
  };
}

/** What is said of a union, whose members have these names, when none is set and when several are. */
export interface UnionWording {
  missing(path: FieldPath, names: readonly string[]): FieldFailure;
  several(path: FieldPath, names: readonly string[]): FieldFailure;
}

/** Two of the wordings that 1.24 has more than once. */
export const pairWording: UnionWording = {
  missing: (path, names) => required(path, `one of ${names.join(' and ')} is required`),
  several: (path, names) =>
    invalidValue(path, 'resource', `${names.join(' and ')} can not be specified simultaneously`),
};
export const listWording: UnionWording = {
  missing: (path, names) => invalidValue(path, '', `must specify one of: ${listed(names)}`),
  several: (path) => invalidValue(path, '', 'may not have more than one field specified at a time'),
};

/** Checks that one member is set; what is in it is looked at elsewhere. */
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

/** Looks into a member that is set. */
export function checkMember<T extends object, K extends Name<T>, C>(
  message: T,
  name: K,
  checks: MemberChecks<T, C>,
  path: FieldPath,
  context: C,
): readonly FieldFailure[] {
  return checks[name](message[name] as NonNullable<T[K]>, path, context);
}
