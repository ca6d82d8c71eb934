/**
 * Runs the compiled tests, and ends with one line: `N passed, N failed`, and what was skipped, which the
 * lines before it tell. Arguments: `--lint` (runs
 * hack/lint.sh beside them), test files and folders (default: `dist`).
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ChildrenCpu, type Cost, costLines, machineCpuSeconds } from './cost.js';
import { inOrder } from './order.js';
import { type Result, runFiles, runProgram } from './run-files.js';
import { skipLines } from './skip-lines.js';
import type { Skip } from './tap-count.js';

const { values, positionals } = parseArgs({ options: { lint: { type: 'boolean' } }, allowPositionals: true });
const batches = inOrder((positionals.length > 0 ? positionals : ['dist']).flatMap(testFiles));
if (batches.length === 0) {
  console.error('no test found; is dist/ built?');
  process.exit(1);
}
const count = { passed: 0, failed: 0 };
const skips: Skip[] = [];
const costs: Cost[] = [];
const cpu = new ChildrenCpu();
const began = { seconds: performance.now() / 1000, cpuSeconds: machineCpuSeconds() };
// Tests of whole clusters, which come first, mostly wait: for each that runs there is one from the end, which computes.
const runs = Array.from({ length: availableParallelism() }, () => [
  runEach(() => batches.shift()),
  runEach(() => batches.pop()),
]).flat();
if (values.lint === true) runs.push(measured('hack/lint.sh', () => runProgram('hack/lint.sh', cpu)));
await Promise.all(runs);
const machine = {
  name: 'the machine meanwhile, with what tests leave to the system',
  seconds: performance.now() / 1000 - began.seconds,
  cpuSeconds: machineCpuSeconds() - began.cpuSeconds,
};
console.log(['# What the dearest took:', ...costLines(costs, machine)].join('\n'));
for (const line of skipLines(skips)) console.log(line);
const skipped = skips.length === 0 ? '' : `, ${skips.length} skipped`;
console.log(`${count.passed} passed, ${count.failed} failed${skipped}`);
process.exitCode = count.failed === 0 ? 0 : 1;

async function runEach(next: () => string[] | undefined): Promise<void> {
  for (let files = next(); files !== undefined; files = next()) {
    const some = files;
    const [first = ''] = some;
    await measured(some.length === 1 ? first : `${first} and ${some.length - 1} more`, () => runFiles(some, cpu));
  }
}

async function measured(name: string, work: () => Promise<Result>): Promise<void> {
  const startedMs = performance.now();
  const { passed, failed, skips: skipped, failures, cpuSeconds } = await work();
  count.passed += passed;
  count.failed += failed;
  skips.push(...skipped);
  const seconds = (performance.now() - startedMs) / 1000;
  costs.push({ name, seconds, cpuSeconds });
  const result = `${failed === 0 ? 'ok' : 'not ok'} ${costs.length} - ${name}`;
  console.log(
    [...failures, `${result} # time=${(seconds * 1000).toFixed(0)}ms cpu=${cpuSeconds.toFixed(1)}s`].join('\n'),
  );
}

function testFiles(path: string): string[] {
  if (!existsSync(path)) return [];
  if (statSync(path).isFile()) return [path];
  return readdirSync(path).flatMap((name) => {
    const child = join(path, name);
    if (statSync(child).isDirectory()) return testFiles(child);
    return name.endsWith('.test.js') ? [child] : [];
  });
}
