/** Rules that take longer than the rest of an object's validation. */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import { andThen, type MaybePromise } from '#apimachinery/async/maybe-promise.js';
import { inSteps } from '#apimachinery/async/steps.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';

export interface Validated {
  readonly object: ApiObjectShape;
  /** Undefined: there was none. */
  readonly old: ApiObjectShape | undefined;
  /** By the rest of the validation. */
  readonly found: readonly FieldFailure[];
  readonly asked: StrategyContext;
}

/** All that is wrong with the object. Others have their turns meanwhile. */
export function withRules(
  { turns }: Pick<RegistryContext, 'turns'>,
  strategy: Strategy,
  { object, old, found, asked }: Validated,
): MaybePromise<readonly FieldFailure[]> {
  const rules = strategy.rules?.(object, old, found, asked);
  if (rules === undefined) return found;
  const more = inSteps(rules, () => turns.pause());
  return andThen(more, (all) => (all.length === 0 ? found : [...found, ...all]));
}
