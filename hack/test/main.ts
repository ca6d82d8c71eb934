/** Runs the compiled tests, nearly every file in a process of its own, and ends with one line: `N passed, N failed`. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { ChildrenCpu, type Cost, costLines } from './cost.js';
import { inOrder } from './order.js';
import { runFiles } from './run-files.js';

const batches = inOrder((process.argv.length > 2 ? process.argv.slice(2) : ['dist']).flatMap(testFiles));
if (batches.length === 0) {
  console.error('no test found; is dist/ built?');
  process.exit(1);
}
const count = { passed: 0, failed: 0, skipped: 0 };
const costs: Cost[] = [];
const cpu = new ChildrenCpu();
// Tests of whole clusters, which come first, mostly wait: for each that runs there is one from the end, which computes.
await Promise.all(
  Array.from({ length: availableParallelism() }, () => [
    runEach(() => batches.shift()),
    runEach(() => batches.pop()),
  ]).flat(),
);
console.log(['# What the dearest took:', ...costLines(costs)].join('\n'));
const skipped = count.skipped === 0 ? '' : `, ${count.skipped} skipped`;
console.log(`${count.passed} passed, ${count.failed} failed${skipped}`);
process.exitCode = count.failed === 0 ? 0 : 1;

async function runEach(next: () => string[] | undefined): Promise<void> {
  for (let files = next(); files !== undefined; files = next()) {
    const startedMs = performance.now();
    const { passed, failed, skipped, failures, cpuSeconds } = await runFiles(files, cpu);
    count.passed += passed;
    count.failed += failed;
    count.skipped += skipped;
    const name = files.length === 1 ? (files[0] as string) : `${files[0]} and ${files.length - 1} more`;
    const seconds = (performance.now() - startedMs) / 1000;
    costs.push({ name, seconds, cpuSeconds });
    const result = `${failed === 0 ? 'ok' : 'not ok'} ${costs.length} - ${name}`;
    console.log([...failures, `${result} # time=${(seconds * 1000).toFixed(0)}ms cpu=${cpuSeconds.toFixed(1)}s`].join('\n'));
  }
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
