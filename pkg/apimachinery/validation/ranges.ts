/** Checks numbers against their declared ranges. */
import type { FieldFailure } from '#apimachinery/errors/status.js';
import type { FieldDeclaration, MessageDeclaration } from '#apimachinery/schema/schema.js';
import { invalidValue, none } from '#apimachinery/validation/failure.js';
import { inclusiveRangeMessage } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

interface Range {
  readonly name: string;
  readonly minimum: number;
  readonly maximum: number;
  /** Zero counts as absent. */
  readonly orZero: boolean;
  /** The value of an absent field; undefined if an absent field is always valid. */
  readonly absent: 0 | undefined;
}

/** The message for a value out of range. */
export type RangeWording = (range: { readonly minimum: number; readonly maximum: number }, value: number) => string;

/** `path` is that of the message. Failures follow the order of the names. */
export type RangeCheck = (message: object | undefined, path: FieldPath) => readonly FieldFailure[];

/** The check of these fields; throws a RangeError for a field without range. Create it once. */
export function rangesOf(type: MessageDeclaration, ...names: readonly string[]): RangeCheck {
  return wordedRangesOf(type, inFigures, ...names);
}

/** Like `rangesOf`, with custom messages of 1.24. */
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

/** The usual message. */
const inFigures: RangeWording = ({ minimum, maximum }) => {
  if (maximum !== Infinity) return inclusiveRangeMessage(minimum, maximum);
  return minimum === 0 ? 'must be greater than or equal to 0' : `must be greater than ${minimum - 1}`;
};

/** Spells out the zero, for ranges that begin with 0 or 1. */
export const inWords: RangeWording = ({ minimum, maximum }, value) => {
  if (value > maximum) return `must be less than or equal to ${maximum}`;
  return minimum === 0 ? 'must be greater than or equal to zero' : 'must be greater than zero';
};

/** For ports of services of API servers and webhooks. */
export const servicePortWording: RangeWording = (range, value) => `port is not valid: ${inFigures(range, value)}`;
