/** Values of settings, from the text of annotations or from a file of rules. Each parser throws SettingError. */
import { DurationError, parseDuration } from '#apimachinery/duration.js';

/** A value that a setting does not accept; the message says what it accepts. */
export class SettingError extends Error {
  override readonly name = 'SettingError';
}

export type Parser<T> = (value: unknown) => T;

/** Longest list of values by attempt. */
const maxAttempts = 100;

/** Shows a value in a message, cut to a readable length. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** Any scalar as text. */
export const text: Parser<string> = (value) => {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new SettingError(`${shown(value)} is not a text`);
};

/** Milliseconds of a Go duration that is not negative. */
export const duration: Parser<number> = (value) => {
  const given = text(value).trim();
  try {
    const ms = parseDuration(given);
    if (ms >= 0) return ms;
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
  }
  throw new SettingError(`${shown(given)} is not a duration such as 1.5s, 200ms or 2m`);
};

/** `never` is infinite. */
export const durationOrNever: Parser<number> = (value) => (value === 'never' ? Infinity : duration(value));

/** A whole number from `least` to `most`. */
export function whole(least: number, most: number): Parser<number> {
  return (value) => {
    const given = text(value).trim();
    const number = Number(given);
    if (/^\d+$/.test(given) && number >= least && number <= most) return number;
    throw new SettingError(`${shown(given)} is not a whole number from ${least} to ${most}`);
  };
}

/** One of these words. */
export function oneOf<T extends string>(...words: readonly T[]): Parser<T> {
  return (value) => {
    const word = words.find((each) => each === value);
    if (word === undefined) throw new SettingError(`${shown(value)} is none of ${words.join(', ')}`);
    return word;
  };
}

/** A value for each attempt: `1,1,0`, or a list. The last one is also that of later attempts. */
export function byAttempt<T>(parse: Parser<T>): Parser<readonly T[]> {
  return (value) => {
    const given: readonly unknown[] = Array.isArray(value)
      ? value
      : typeof value === 'string'
        ? value.split(',').map((each) => each.trim())
        : [value];
    if (given.length === 0 || given.length > maxAttempts) {
      throw new SettingError(`a list of ${given.length} values: from 1 to ${maxAttempts} are possible`);
    }
    return given.map(parse);
  };
}

/** The value of an attempt, counted from zero. */
export function ofAttempt<T>(values: readonly T[] | undefined, attempt: number): T | undefined {
  return values?.[Math.min(attempt, values.length - 1)];
}

/** The members of a map; annotations hold it as YAML or JSON, which `read` parses. */
export function membersOf(value: unknown, what: string): readonly (readonly [string, unknown])[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new SettingError(`${shown(value)} is not a map of ${what}`);
  }
  return Object.entries(value);
}

/** Refuses members that are not in the list. */
export function onlyMembers(members: readonly (readonly [string, unknown])[], names: readonly string[]): void {
  const unknown = members.find(([name]) => !names.includes(name));
  if (unknown !== undefined)
    throw new SettingError(`unknown member ${shown(unknown[0])}: there are ${names.join(', ')}`);
}

/** Whether `*` of the pattern, which stands for any characters, makes it equal to the text. Linear in both lengths. */
export function matchesGlob(pattern: string, given: string): boolean {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return pattern === given;
  if (!given.startsWith(first)) return false;
  let at = first.length;
  for (const part of others) {
    const next = given.indexOf(part, at);
    if (next < 0) return false;
    at = next + part.length;
  }
  return given.length - last.length >= at && given.endsWith(last);
}
