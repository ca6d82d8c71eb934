/** Visits fields of objects by paths such as `spec/containers[]/image`: lists on the way are entered. Pure. */
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

/** Takes the place of a field, to read or to replace it. */
export type FieldVisitor = (holder: JsonObject | unknown[], key: string | number) => void;

export interface FieldVisit {
  /** What a missing field becomes; absent: it is left out, and so are those on its way. */
  readonly create?: 'map' | 'scalar' | undefined;
  readonly visit: FieldVisitor;
}

/** The steps of a path; a backslash keeps a slash within a step. */
export function pathSteps(path: string, delimiter: string): string[] {
  const steps: string[] = [];
  for (const part of path.split(delimiter)) {
    const last = steps.at(-1);
    if (last?.endsWith('\\') === true) steps[steps.length - 1] = `${last.slice(0, -1)}${delimiter}${part}`;
    else steps.push(part);
  }
  return steps;
}

/** Throws a CommandError where the path leads through a scalar. */
export function visitField(object: JsonObject, path: string, visit: FieldVisit): void {
  visitPlace([object], 0, pathSteps(path, '/'), visit);
}

function visitPlace(
  holder: JsonObject | unknown[],
  key: string | number,
  steps: readonly string[],
  visit: FieldVisit,
): void {
  const value: unknown = (holder as JsonObject)[key];
  const [step, ...others] = steps;
  if (step === undefined) {
    visit.visit(holder, key);
    return;
  }
  if (value === undefined || value === null) return;
  if (Array.isArray(value)) {
    for (const index of value.keys()) visitPlace(value, index, steps, visit);
    return;
  }
  if (!isJsonObject(value)) throw new CommandError('expected sequence or mapping node');
  const name = step.endsWith('[]') ? step.slice(0, -2) : step;
  const isList = name !== step;
  if (value[name] === undefined || value[name] === null) {
    if (visit.create === undefined || isList) return;
    value[name] = others.length > 0 || visit.create === 'map' ? {} : '';
  }
  visitPlace(value, name, others, visit);
}
