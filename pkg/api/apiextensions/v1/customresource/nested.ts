/**
 * Values inside of custom objects, found as 1.24 finds them, with what it says of those that are of another type. Source: 1.24,
 * staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/helpers.go.
 */
import { isMembers } from '#api/apiextensions/v1/structural/structural.js';
import { goText, goTypeOf } from '#apimachinery/errors/go-value.js';

/** What is at a path: nothing (`value` is undefined), a value of the type, or `fault`: what is wrong there. */
export interface Nested<T> {
  readonly value?: T;
  readonly fault?: string;
}

export function nestedInteger(object: unknown, path: readonly string[]): Nested<number | bigint> {
  return nested(object, path, 'int64') as Nested<number | bigint>;
}

export function nestedString(object: unknown, path: readonly string[]): Nested<string> {
  return nested(object, path, 'string') as Nested<string>;
}

function nested(object: unknown, path: readonly string[], type: string): Nested<unknown> {
  let value = object;
  for (const [i, name] of path.entries()) {
    if (value === null) return {};
    if (!isMembers(value)) return { fault: faultOf(value, path.slice(0, i + 1), 'map[string]interface{}') };
    if (!Object.hasOwn(value, name)) return {};
    value = value[name];
  }
  return goTypeOf(value) === type ? { value } : { fault: faultOf(value, path, type) };
}

function faultOf(value: unknown, path: readonly string[], expected: string): string {
  const told = `${goText(value)} is of the type ${goTypeOf(value)}, expected ${expected}`;
  return `.${path.join('.')} accessor error: ${told}`;
}
