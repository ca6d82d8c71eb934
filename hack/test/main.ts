/** Runs the compiled tests, each file a process of its own, and ends with one line: `N passed, N failed`. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { longestFirst } from './order.js';
import { runFile } from './run-file.js';

const files = longestFirst((process.argv.length > 2 ? process.argv.slice(2) : ['dist']).flatMap(testFiles));
if (files.length === 0) {
  console.error('no test found; is dist/ built?');
  process.exit(1);
}
const count = { passed: 0, failed: 0 };
let ended = 0;
// Tests of whole clusters mostly wait for something: while as many as there are processors do, one more worker computes.
const workers = Array.from({ length: availableParallelism() }, () => run(() => files.shift()));
await Promise.all([...workers, run(() => files.pop())]);
console.log(`${count.passed} passed, ${count.failed} failed`);
process.exitCode = count.failed === 0 ? 0 : 1;

/** Runs one file after the other, as long as there are some. */
async function run(next: () => string | undefined): Promise<void> {
  for (let file = next(); file !== undefined; file = next()) {
    const startedMs = performance.now();
    const { passed, failed, failures } = await runFile(file);
    count.passed += passed;
    count.failed += failed;
    ended += 1;
    const time = `# time=${(performance.now() - startedMs).toFixed(0)}ms`;
    console.log([...failures, `${failed === 0 ? 'ok' : 'not ok'} ${ended} - ${file} ${time}`].join('\n'));
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
