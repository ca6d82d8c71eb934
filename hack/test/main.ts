/** Runs the compiled tests with tap and ends with one line that counts the assertions: `N passed, N failed`. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

/** Whole clusters take minutes where tap would wait for half of one. */
const fileTimeoutSeconds = 900;

const files = (process.argv.length > 2 ? process.argv.slice(2) : ['dist']).flatMap(testFiles).sort();
if (files.length === 0) {
  console.error('no test found; is dist/ built?');
  process.exit(1);
}
const tap = spawn(
  'node_modules/.bin/tap',
  [
    'run',
    `--jobs=${availableParallelism()}`,
    '--disable-coverage',
    `--timeout=${fileTimeoutSeconds}`,
    '--reporter=tap',
    ...files,
  ],
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
const count = { passed: 0, failed: 0 };
let rest = '';
tap.stdout.setEncoding('utf8').on('data', (chunk: string) => {
  rest += chunk;
  const lines = rest.split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines) report(line);
});
tap.on('close', (code) => {
  if (rest !== '') report(rest);
  const failed = code !== 0 && count.failed === 0 ? 1 : count.failed;
  console.log(`${count.passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
});

/** Counts the leaves of TAP and shows a line per file, and whatever failed in full. */
let failing = false;
function report(line: string): void {
  const leaf = /^\s*(not )?ok \d+( - (.*))?$/.exec(line);
  const isTodo = /# (TODO|SKIP)/i.test(line);
  if (leaf !== null) {
    const isSubtest = line.trimEnd().endsWith('{') || / # time=/.test(line);
    failing = leaf[1] !== undefined && !isTodo;
    if (!isSubtest && !isTodo) count[leaf[1] === undefined ? 'passed' : 'failed']++;
    if (failing || !/^\s/.test(line)) console.log(line);
    return;
  }
  if (failing && /^\s+/.test(line)) console.log(line);
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
