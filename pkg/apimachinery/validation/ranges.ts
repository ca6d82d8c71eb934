/** Checks of numbers against the ranges that their declarations give. */
import type { FieldFailure } from '#apimachinery/errors/status.js';
import type { FieldDeclaration, MessageDeclaration } from '#apimachinery/schema/schema.js';
import { invalidValue, none } from '#apimachinery/validation/failure.js';
import { inclusiveRangeMessage } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

interface Range {
  readonly name: string;
  readonly minimum: number;
  readonly maximum: number;
  /** Zero is no value of the field, but its absence. */
  readonly orZero: boolean;
  /** What an absent field counts as; undefined: as nothing that could be out of range. */
  readonly absent: 0 | undefined;
}

/** What is said of a value that is out of its range. */
export type RangeWording = (range: { readonly minimum: number; readonly maximum: number }, value: number) => string;

/** `path` is that of the message. Failures come in the order of the names. */
export type RangeCheck = (message: object | undefined, path: FieldPath) => readonly FieldFailure[];

/** For these fields of the message, which have ranges; throws a RangeError for one that has none. Make it once. */
export function rangesOf(type: MessageDeclaration, ...names: readonly string[]): RangeCheck {
  return wordedRangesOf(type, inFigures, ...names);
}

/** The same for fields of which 1.24 speaks in words of their own. */
export function wordedRangesOf(
  type: MessageDeclaration,
  wording: RangeWording,
  ...names: readonly string[]
): RangeCheck {
  const ranges = names.map((name) => rangeOf(name, type.fields[name]));
  return (message, path) => {
    if (message === undefined) return none;
    let failures: FieldFailure[] | undefined;
    for (const range of ranges) {
      const { name, minimum, maximum, orZero, absent } = range;
      const value = (message as Readonly<Record<string, number | undefined>>)[name] ?? absent;
      if (value === undefined || (value >= minimum && value <= maximum) || (orZero && value === 0)) continue;
      failures ??= [];
      failures.push(invalidValue(path.child(name), value, wording(range, value)));
    }
    return failures ?? none;
  };
}

function rangeOf(name: string, field: FieldDeclaration | undefined): Range {
  if (field?.minimum === undefined) throw new RangeError(`${name} has no range`);
  const { minimum, maximum = Infinity, optional = false, pointer = false } = field;
  return {
    name,
    minimum,
    maximum,
    orZero: optional && !pointer,
    absent: optional ? undefined : 0,
  };
}

/** The usual words. */
const inFigures: RangeWording = ({ minimum, maximum }) => {
  if (maximum !== Infinity) return inclusiveRangeMessage(minimum, maximum);
  return minimum === 0 ? 'must be greater than or equal to 0' : `must be greater than ${minimum - 1}`;
};

/** With the zero written out, for ranges that begin with 0 or 1. */
export const inWords: RangeWording = ({ minimum, maximum }, value) => {
  if (value > maximum) return `must be less than or equal to ${maximum}`;
  return minimum === 0 ? 'must be greater than or equal to zero' : 'must be greater than zero';
};

/** For ports of services that servers and webhooks are reached at. */
export const servicePortWording: RangeWording = (range, value) => `port is not valid: ${inFigures(range, value)}`;
