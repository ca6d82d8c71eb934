/** Keys that come twice in a map of a YAML document, in the words of 1.24. */

import { goFloat } from '#apimachinery/errors/go-value.js';

/** `line 7: key "a" already set in map`. `line` counts from 1. */
export function repeatedKey(key: unknown, line: number): string {
  return `line ${line}: key ${shown(key)} already set in map`;
}

function shown(key: unknown): string {
  if (typeof key === 'string') return JSON.stringify(key);
  if (key === null) return 'interface {}(nil)';
  return typeof key === 'number' ? goFloat(key) : String(key);
}

/** The one error that strict readers make of all of them. */
export function repeatedKeysError(repeated: readonly string[]): string {
  return ['yaml: unmarshal errors:', ...repeated].join('\n  ');
}
