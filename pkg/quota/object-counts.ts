/** Objects of any kind, of which quotas count nothing but how many there are. */
import type { QuotaEvaluator } from '#quota/evaluator.js';

/** `count/jobs.batch`, `count/secrets`; `group` is the name on the wire, empty for core. */
export function objectCountName(group: string, resource: string): string {
  return group === '' ? `count/${resource}` : `count/${resource}.${group}`;
}

/** `names`: all names of the count, the older one of 1.24 among them where there is one. */
export function objectCountEvaluator(names: readonly string[]): QuotaEvaluator {
  const usage = Object.freeze(Object.fromEntries(names.map((name) => [name, '1'])));
  return {
    scoped: false,
    counts: (name) => names.includes(name),
    usage: () => usage,
    isWithin: () => false,
    missing: () => undefined,
    mayUseMore: () => false,
  };
}
