/** Parses the output of `go test -json`: results by package. Pure. */
import { isRecord } from '#client/kubeconfig/file.js';
import { readGoOutput } from '#test/outsiders/go-output.js';
import type { SuiteResult } from '#test/outsiders/report.js';

export type Counts = Pick<SuiteResult, 'passed' | 'failures' | 'skipped'>;

interface Package {
  text: string;
  failed: boolean;
}

const field = (line: Readonly<Record<string, unknown>>, name: string): string => {
  const value = line[name];
  return typeof value === 'string' ? value : '';
};

/** Lines that are no JSON are ignored: they are warnings of the tool itself. Packages without tests have no entry. */
export function readGoJson(output: string): ReadonlyMap<string, Counts> {
  const packages = new Map<string, Package>();
  const entry = (name: string): Package => {
    const present = packages.get(name) ?? { text: '', failed: false };
    packages.set(name, present);
    return present;
  };
  for (const text of output.split('\n')) {
    const line = parse(text);
    if (line === undefined) continue;
    // Builds name what they build as `PACKAGE [PACKAGE.test]`.
    const name = (field(line, 'Package') || field(line, 'ImportPath')).replace(/ \[.*$/, '');
    const action = field(line, 'Action');
    if (action.endsWith('output')) entry(name).text += field(line, 'Output');
    if (action === 'fail' && field(line, 'Test') === '') entry(name).failed = true;
  }
  return new Map(
    [...packages].flatMap(([name, { text, failed }]): [string, Counts][] => {
      const counts = readGoOutput(text);
      if (failed && counts.failures.length === 0)
        return [[name, { ...counts, failures: [{ name, reason: text.trim().split('\n').slice(-6).join(' ') }] }]];
      return counts.passed + counts.skipped + counts.failures.length === 0 ? [] : [[name, counts]];
    }),
  );
}

function parse(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : undefined;
  } catch (error) {
    // A log line of a program that begins like JSON.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
