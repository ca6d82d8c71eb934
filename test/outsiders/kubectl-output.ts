/** What kubectl's own test script prints, as counts and failures of its groups of tests. Pure. */
import type { Failure, SuiteResult } from '#test/outsiders/report.js';

const colors = /\u001b(\[[\d;]*m|\(B)/g;
/** Fails on purpose. */
const canary = 'record_command_canary';
const reasonLines = 4;

export function readKubectlOutput(text: string): Pick<SuiteResult, 'passed' | 'failures' | 'skipped'> {
  const failures: Failure[] = [];
  let groups = 0;
  let lines: string[] = [];
  let ended = false;
  for (const line of text.replaceAll(colors, '').split('\n')) {
    const begun = /^Recording: (\S+)$/.exec(line)?.[1];
    const failed = /^Error when running (\S+)$/.exec(line)?.[1];
    if (line.includes('TESTS PASSED') || line.startsWith('FAILED TESTS')) ended = true;
    if (begun !== undefined && begun !== canary) {
      groups++;
      lines = [];
    } else if (failed !== undefined) failures.push({ name: failed, reason: reasonOf(lines) });
    else lines.push(line);
  }
  if (!ended) failures.push({ name: 'the script', reason: `ended before its end: ${reasonOf(lines)}` });
  const passed = groups - failures.filter(({ name }) => name !== 'the script').length;
  return { passed, failures, skipped: 0 };
}

/** What stands before the stack of calls. */
function reasonOf(lines: readonly string[]): string {
  const stack = lines.findIndex((line) => line.startsWith('!!! ['));
  return (stack === -1 ? lines : lines.slice(0, stack))
    .filter((line) => line.trim() !== '')
    .slice(-reasonLines)
    .join(' ');
}
