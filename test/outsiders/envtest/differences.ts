/** Compares a suite's results on two sets of programs. Pure. */
import type { Counts } from '#test/outsiders/envtest/go-json.js';
import type { Difference } from '#test/outsiders/envtest/suites.js';
import type { Failure } from '#test/outsiders/report.js';

export type Results = ReadonlyMap<string, Counts>;

export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface DifferingTest {
  readonly name: string;
  /** Of the programs of this project, or of the others. */
  readonly failsOn: 'own' | 'peer';
  readonly message: string;
  /** Why this is right; empty: no reason in the table. */
  readonly reason: string;
}

export function totalsOf(results: Results): Totals {
  const all = [...results.values()];
  const sum = (read: (counts: Counts) => number) => all.reduce((total, counts) => total + read(counts), 0);
  return {
    passed: sum(({ passed }) => passed),
    failed: sum(({ failures }) => failures.length),
    skipped: sum(({ skipped }) => skipped),
  };
}

const failuresOf = (results: Results): readonly Failure[] => [...results.values()].flatMap(({ failures }) => failures);

/** @param peer Undefined: without a comparison each failure differs. */
export function differingTests(
  own: Results,
  peer: Results | undefined,
  expected: readonly Difference[],
): readonly DifferingTest[] {
  const names = (results: Results | undefined) =>
    new Set(results === undefined ? [] : failuresOf(results).map(({ name }) => name));
  const [ownNames, peerNames] = [names(own), names(peer)];
  const describe = (failsOn: 'own' | 'peer', { name, reason }: Failure): DifferingTest => ({
    name,
    failsOn,
    message: reason,
    reason: expected.find(({ test }) => test.test(name))?.reason ?? '',
  });
  return [
    ...failuresOf(own)
      .filter(({ name }) => !peerNames.has(name))
      .map((failure) => describe('own', failure)),
    ...(peer === undefined ? [] : failuresOf(peer))
      .filter(({ name }) => !ownNames.has(name))
      .map((failure) => describe('peer', failure)),
  ];
}

/** A second run's packages replace those of the first: a test that holds only at times is no difference. */
export function withSecondRun(first: Results, second: Results): Results {
  return new Map([...first, ...second]);
}

/** Packages with a failure. */
export function failedPackages(results: Results): readonly string[] {
  return [...results].filter(([, { failures }]) => failures.length > 0).map(([name]) => name);
}
