import { declaration as schema } from '#api/core/v1/pod.js';
import { priorityclasses } from '#api/scheduling/v1/resources.gen.js';
import type { PriorityClass } from '#api/scheduling/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkEnum } from '#apimachinery/validation/checks.js';
import { forbiddenField } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

/** Higher priorities are reserved for the system. */
const highestUserPriority = 1_000_000_000;
const systemPrefix = 'system-';

/** Classes with the reserved prefix, and their values. */
const systemPriorities: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2 * highestUserPriority,
  'system-node-critical': 2 * highestUserPriority + 1000,
};

const preemptionPath = FieldPath.of('preemptionPolicy');

export const priorityClassStrategy: Strategy<PriorityClass> = kindStrategy<PriorityClass>(priorityclasses, {
  anyGenerateNameOnUpdate: true,
  // The generation stays 1, since no relevant field can change.
  generationFields: [],
  // An update only validates changes, since no relevant field can change.
  validate: (object, _context, old) => (old === undefined ? validateClass(object) : []),
  validateUpdate: (object, old) => [
    ...((object.value ?? 0) === (old.value ?? 0)
      ? []
      : [forbiddenField(FieldPath.of('Value'), 'may not be changed in an update.')]),
  ],
  cells: (object, context) => [
    object.metadata.name ?? '',
    object.value ?? 0,
    object.globalDefault ?? false,
    age(object.metadata.creationTimestamp, context.now),
  ],
});

function validateClass(object: PriorityClass): FieldFailure[] {
  const { preemptionPolicy } = object;
  const failures = validateValue(object);
  if (preemptionPolicy === undefined) return failures;
  return [...failures, ...checkEnum(preemptionPath, preemptionPolicy, schema.enums.PreemptionPolicy)];
}

function validateValue(object: PriorityClass): FieldFailure[] {
  const name = object.metadata.name ?? '';
  if (name.startsWith(systemPrefix)) {
    const why = whyNotSystemClass(object, name);
    if (why === undefined) return [];
    const text = `priority class names with '${systemPrefix}' prefix are reserved for system use only. error: ${why}`;
    return [forbiddenField(FieldPath.of('metadata', 'name'), text)];
  }
  if ((object.value ?? 0) <= highestUserPriority) return [];
  const text = `maximum allowed value of a user defined priority is ${highestUserPriority}`;
  return [forbiddenField(FieldPath.of('value'), text)];
}

function whyNotSystemClass(object: PriorityClass, name: string): string | undefined {
  const value = Object.hasOwn(systemPriorities, name) ? systemPriorities[name] : undefined;
  if (value === undefined) return `${name} is not a known system priority class`;
  if (object.value !== value) return `value of ${name} PriorityClass must be ${value}`;
  if (object.globalDefault === true) return `globalDefault of ${name} PriorityClass must be false`;
  return undefined;
}
