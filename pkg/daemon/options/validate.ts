/** Validation rules over parsed options; every violation is reported. */
import { OptionsError, type OptionTable, type OptionValues } from '#daemon/options/option.js';
import type { ParsedOptions } from '#daemon/options/parse.js';

/** Returns one message per violation. Must not modify anything. */
export type Rule<V> = (values: V, given: ReadonlySet<string>) => readonly string[];

/** Throws OptionsError with the messages of all rules, or else with those about options that would protect in vain. */
export function validateOptions<T extends OptionTable>(
  options: Pick<ParsedOptions<T>, 'values' | 'given'> & Partial<Pick<ParsedOptions<T>, 'refusals'>>,
  rules: readonly Rule<OptionValues<T>>[],
): void {
  const messages = rules.flatMap((rule) => rule(options.values, options.given));
  if (messages.length > 0) throw new OptionsError(messages);
  if (options.refusals !== undefined && options.refusals.length > 0) throw new OptionsError(options.refusals);
}

/** Evaluates rules in order and returns the messages of the first that has any. */
export function inOrder<V>(...rules: readonly Rule<V>[]): Rule<V> {
  return (values, given) => {
    for (const rule of rules) {
      const messages = rule(values, given);
      if (messages.length > 0) return messages;
    }
    return [];
  };
}

/** Combines rules and reports all messages. */
export function allOf<V>(...rules: readonly Rule<V>[]): Rule<V> {
  return (values, given) => rules.flatMap((rule) => rule(values, given));
}

type Numbers<K extends string> = { readonly [P in K]: number };

export function positive<K extends string>(name: K): Rule<Numbers<K>> {
  return (values) => (values[name] > 0 ? [] : [`--${name} must be greater than zero`]);
}

/** Both options are set or neither is. */
export function together(a: string, b: string): Rule<unknown> {
  return (_values, given) => (given.has(a) === given.has(b) ? [] : [`--${a} and --${b} must be given together`]);
}
