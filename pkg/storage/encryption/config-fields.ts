/** Reads the fields of the encryption configuration; messages never repeat a value, which may be secret. */
import { isPlain, type Plain } from '#daemon/options/config-decode.js';

/** Stands for values in messages. */
export const redacted = '"REDACTED"';

/** The error of an absent field. */
export const required = (path: string, detail: string): string => `${path}: Required value: ${detail}`;

/** An absent object has no fields. */
export function object(value: unknown, path: string, errors: string[]): Plain {
  if (isPlain(value)) return value;
  if (value !== null && value !== undefined) errors.push(`${path}: Invalid value: ${redacted}: must be an object`);
  return {};
}

/** An absent list is empty; undefined after an error. */
export function list(value: unknown, path: string, errors: string[]): readonly unknown[] | undefined {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value as unknown[];
  errors.push(`${path}: Invalid value: ${redacted}: must be a list`);
  return undefined;
}

/** Each field must be one of those allowed. */
export function unknownFields(fields: Plain, allowed: readonly string[], path: string, errors: string[]): void {
  for (const name of Object.keys(fields)) {
    if (!allowed.includes(name)) errors.push(`unknown field ${JSON.stringify(`${path}${name}`)}`);
  }
}
