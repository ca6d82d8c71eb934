/** Test helpers that run the steps of a request on an object and return its failures as texts. */

import type { ApiObjectShape } from '#api/meta/object.js';
import { schemeFor } from '#api/scheme.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { orchDialect } from '#apimachinery/dialect.js';
import type { Draft as Mutable } from '#apimachinery/draft.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';

/** An object from a client: of any shape, so that tests can violate the rules. */
export type Draft = Record<string, unknown>;

/** Gates used by rules that are off by default in release 1.24. */
const offByDefault: ReadonlySet<string> = new Set([
  'CronJobTimeZone',
  'CustomResourceValidationExpressions',
  'ExpandedDNSConfig',
  'HPAContainerMetrics',
  'HPAScaleToZero',
  'MaxUnavailableStatefulSet',
  'NetworkPolicyStatus',
  'ReadWriteOncePod',
  'RecoverVolumeExpansionFailure',
  'StatefulSetAutoDeletePVC',
]);

export const testContext: StrategyContext = {
  dialect: orchDialect,
  scheme: schemeFor(orchDialect),
  now: Date.parse('2024-06-01T00:00:00Z'),
  monotonic: () => 0,
  gate: (name) => !offByDefault.has(name),
  user: { name: 'u', groups: [] },
};

/** The context with other settings of some gates. */
export function withGates(gates: Readonly<Record<string, boolean>>): StrategyContext {
  return { ...testContext, gate: (name) => gates[name] ?? testContext.gate(name) };
}

function texts(failures: readonly FieldFailure[] | undefined): string[] {
  return (failures ?? []).map((failure) => `${failure.field}: ${failure.message}`);
}

/** The object as it would be stored. */
export function created(strategy: Strategy, draft: Draft, context = testContext): ApiObjectShape {
  const object = copyJson(draft) as unknown as Mutable<ApiObjectShape>;
  strategy.defaults?.(object, context);
  strategy.prepareForCreate?.(object, context);
  strategy.completeCreate?.(object, context);
  return object;
}

/** `path: message` of every failure of a create. */
export function createFailures(strategy: Strategy, draft: Draft, context = testContext): string[] {
  return texts(strategy.validateCreate?.(created(strategy, draft, context), context));
}

/** The object as an update would store it. */
export function updated(strategy: Strategy, draft: Draft, old: ApiObjectShape, context = testContext): ApiObjectShape {
  const object = copyJson(draft) as unknown as Mutable<ApiObjectShape>;
  strategy.defaults?.(object, context);
  strategy.prepareForUpdate?.(object, old, context);
  return object;
}

/** `path: message` of every failure of an update from one draft to another. */
export function updateFailures(strategy: Strategy, before: Draft, after: Draft, context = testContext): string[] {
  return changeFailures(strategy, created(strategy, before, context), after, context);
}

/** `path: message` of every failure of an update of a stored object. */
export function changeFailures(strategy: Strategy, old: ApiObjectShape, after: Draft, context = testContext): string[] {
  return texts(strategy.validateUpdate?.(updated(strategy, after, old, context), old, context));
}

/** `path: message` of every failure of a status update, where `before` is created first. */
export function statusFailures(
  strategy: Strategy,
  before: Draft,
  status: { old?: unknown; new: unknown },
  context = testContext,
): string[] {
  const old = created(strategy, before, context);
  if (status.old !== undefined) Object.assign(old, { status: status.old });
  const object = copyJson(old);
  Object.assign(object, { status: status.new });
  strategy.prepareForStatusUpdate?.(object, old, context);
  return texts(strategy.validateStatusUpdate?.(object, old, context));
}

/** A deep copy with the value at the dotted path replaced; `undefined` removes it. Numbers index lists. */
export function withField(draft: Draft, path: string, value: unknown): Draft {
  const copy = structuredClone(draft);
  const steps = path.split('.');
  const last = steps.pop() ?? '';
  let at: object = copy;
  for (const step of steps) {
    const next: unknown = Reflect.get(at, step);
    if (typeof next === 'object' && next !== null) at = next;
    else {
      const container = {};
      Reflect.set(at, step, container);
      at = container;
    }
  }
  if (value === undefined) Reflect.deleteProperty(at, last);
  else Reflect.set(at, last, value);
  return copy;
}
