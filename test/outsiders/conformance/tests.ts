/** Which tests belong to the conformance suite, as its module publishes them, and how Ginkgo is asked for some. Pure. */
import { parse } from 'yaml';

export interface ConformanceTests {
  /** Those that can run side by side. */
  readonly together: readonly string[];
  /** Those that need the cluster for themselves. */
  readonly alone: readonly string[];
}

const needsCluster = /\[(Serial|Disruptive)\]/;

/**
 * Full names of tests, in the order of the list.
 * @param list The text of `conformance.yaml`. Throws where it is no list of tests.
 * @param focus A regular expression that names match; an empty one takes all.
 */
export function conformanceTests(list: string, focus: string): ConformanceTests {
  const entries: unknown = parse(list);
  if (!Array.isArray(entries)) throw new Error('the list of conformance tests is no list');
  const chosen = new RegExp(focus);
  const names = entries.map(nameOf).filter((name) => chosen.test(name));
  return {
    together: names.filter((name) => !needsCluster.test(name)),
    alone: names.filter((name) => needsCluster.test(name)),
  };
}

function nameOf(entry: unknown): string {
  const name = (entry as { readonly codename?: unknown } | null)?.codename;
  if (typeof name !== 'string') throw new Error(`no test of the conformance suite: ${JSON.stringify(entry)}`);
  return name;
}

/** A regular expression of Go that matches these names alone: several expressions would be alternatives, not conditions. */
export function focusOn(names: readonly string[]): string {
  return names.map((name) => name.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|');
}
