/** Reads the members of a checkpoint, which may be damaged, with the words of Go's decoder. Pure. */

import { jsonName } from '#apimachinery/errors/go-value.js';
import { messageOf } from '#apimachinery/errors/message.js';

export type Members = Readonly<Record<string, unknown>>;

/** Message of 1.24 for a wrong checksum. */
export const corrupted = 'checkpoint is corrupted';

/** Throws if the text is not a JSON object. */
export function parseMembers(text: string): Members {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new Error(text === '' ? 'unexpected end of JSON input' : messageOf(error), { cause: error });
  }
  return membersOf(parsed, 'checkpoint');
}

/** `null` and absent are empty. Throws if the value is not an object. */
export function membersOf(value: unknown, where: string): Members {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw wrongType(value, where);
  return value as Members;
}

export function listOf(value: unknown, where: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw wrongType(value, where);
  return value as readonly unknown[];
}

export function textOf(value: unknown, where: string): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw wrongType(value, where);
  return value;
}

/** A whole number that is not negative. */
export function countOf(value: unknown, where: string): number {
  if (value === undefined || value === null) return 0;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) throw wrongType(value, where);
  return value;
}

function wrongType(value: unknown, where: string): Error {
  return new Error(`json: cannot unmarshal ${jsonName(value)} into Go struct field ${where}`);
}
