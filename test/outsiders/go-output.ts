/** Parses the output of `go test -v` for plain tests and Ginkgo suites into counts and failures. Pure. */
import type { Failure, SuiteResult } from '#test/outsiders/report.js';

type Counts = Pick<SuiteResult, 'passed' | 'failures' | 'skipped'>;

const colors = /\u001b\[[\d;]*m/g;
const verdict = /^\s*--- (PASS|FAIL|SKIP): (\S+)/;
const ginkgoSummary = /(\d+) Passed \| (\d+) Failed \|.*?(\d+) Pending \| (\d+) Skipped/;
const ginkgoFailure = /^\s*\[(?:Fail|FAIL|Panic!|PANICKED!|TIMEDOUT|Timeout\.\.\.)\] (.*)$/;
const packageFailure = /^FAIL\s+(\S+)\s+\[(.*)\]$/;
const noise = /^(===|---|\s*---|\s*I\d{4} |\s*W\d{4} )/;

/** A Ginkgo suite is one Go test; its specs are counted instead. Lines before a failure are its reason. */
export function readGoOutput(text: string): Counts {
  const failures: Failure[] = [];
  let [passed, skipped] = [0, 0];
  /** Counts of the suite to which the next verdict belongs. */
  let specs: readonly [passed: number, skipped: number] | undefined;
  let specFailures: Failure[] = [];
  let lines: string[] = [];
  const lastWords = () =>
    lines
      .filter((line) => line.trim() !== '' && !noise.test(line))
      .slice(-6)
      .join(' ')
      .trim();
  for (const line of text.replaceAll(colors, '').split('\n')) {
    const summary = ginkgoSummary.exec(line);
    if (summary !== null) specs = [Number(summary[1]), Number(summary[3]) + Number(summary[4])];
    const spec = ginkgoFailure.exec(line);
    if (spec !== null) specFailures.push({ name: (spec[1] ?? '').trim(), reason: '' });
    else if (specFailures.at(-1)?.reason === '' && line.trim() !== '')
      specFailures.push({ ...(specFailures.pop() as Failure), reason: line.trim() });
    const broken = packageFailure.exec(line);
    if (broken !== null) failures.push({ name: broken[1] ?? '', reason: broken[2] ?? '' });
    const ended = verdict.exec(line);
    if (ended === null) {
      lines = [...lines.slice(-40), line];
      continue;
    }
    const [, what, name = ''] = ended;
    if (specs !== undefined) {
      passed += specs[0];
      skipped += specs[1];
      // Ginkgo summarizes no single failure.
      const isSilent = what === 'FAIL' && specFailures.length === 0;
      failures.push(...(isSilent ? [{ name, reason: lastWords() }] : specFailures));
    } else if (what === 'PASS') passed++;
    else if (what === 'SKIP') skipped++;
    else failures.push({ name, reason: lastWords() });
    [specs, specFailures, lines] = [undefined, [], []];
  }
  return { passed, failures, skipped };
}
