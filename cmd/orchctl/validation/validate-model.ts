/** Validates an object by its model, with the messages of kubectl 1.24 (kube-openapi, pkg/util/proto/validation). */
import { quoted } from '#apimachinery/errors/message-values.js';
import type { Model } from '#cmd/orchctl/validation/model.js';

/** @param name Name of the object in messages: its kind. */
export function modelErrors(value: unknown, model: Model, name: string): string[] {
  if (value === null || value === undefined) return [unknownObject(name)];
  const errors: string[] = [];
  visit(value, model, { path: name, errors });
  return errors;
}

interface Place {
  /** Path of the value: `Pod.spec.containers[0]`. */
  readonly path: string;
  readonly errors: string[];
}

const unknownObject = (path: string): string => `unknown object type "nil" in ${path}`;

function visit(value: unknown, model: Model, place: Place): void {
  if (model.type === 'arbitrary') return;
  const report = (text: string) => place.errors.push(`ValidationError(${place.path}): ${text}`);
  const mistyped = (expected: string) =>
    report(`invalid type for ${model.path}: got ${quoted(typeOf(value))}, expected ${quoted(expected)}`);
  switch (model.type) {
    case 'kind':
      if (isMembers(value)) visitKind(value, model, place, report);
      else mistyped('map');
      return;
    case 'map':
      if (!isMembers(value)) mistyped('map');
      else for (const [key, member] of inOrder(value)) visitPart(member, model.element(), place, `.${key}`);
      return;
    case 'array':
      if (!Array.isArray(value)) mistyped('array');
      else {
        value.forEach((item: unknown, i) => {
          const path = `${place.path}[${i}]`;
          if (item === null) place.errors.push(`ValidationError(${place.path}): ${unknownObject(path)}`);
          else visit(item, model.element(), { ...place, path });
        });
      }
      return;
    case 'primitive':
      if (!fits(typeOf(value), model.primitive)) mistyped(model.primitive);
      return;
    default:
      model satisfies never;
  }
}

function visitKind(
  value: Readonly<Record<string, unknown>>,
  model: Extract<Model, { type: 'kind' }>,
  place: Place,
  report: (text: string) => void,
): void {
  for (const [key, member] of inOrder(value)) {
    if (member === null) continue;
    const field = model.fields.get(key);
    if (field === undefined) report(`unknown field ${quoted(key)} in ${model.path}`);
    else visit(member, field(), { ...place, path: `${place.path}.${key}` });
  }
  for (const name of model.required) {
    const isSet = Object.hasOwn(value, name) && value[name] !== null;
    if (!isSet) report(`missing required field ${quoted(name)} in ${model.path}`);
  }
}

function visitPart(value: unknown, model: Model, place: Place, step: string): void {
  const path = `${place.path}${step}`;
  if (value === null) place.errors.push(unknownObject(path));
  else visit(value, model, { ...place, path });
}

/** Strings accept any scalar, and integers accept fractions, as in 1.24. */
function fits(actual: string, expected: string): boolean {
  if (actual === 'map' || actual === 'array') return false;
  if (expected === 'string') return true;
  if (expected === 'boolean') return actual === 'boolean';
  return (expected === 'integer' || expected === 'number') && (actual === 'integer' || actual === 'number');
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  switch (typeof value) {
    case 'object':
      return 'map';
    case 'bigint':
      return 'integer';
    case 'number':
      return Number.isInteger(value) ? 'integer' : 'number';
    default:
      return typeof value;
  }
}

function isMembers(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function inOrder(value: Readonly<Record<string, unknown>>): [string, unknown][] {
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}
