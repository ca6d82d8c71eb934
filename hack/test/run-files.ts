/**
 * Files of tests in a process of their own. A test that uses tap writes TAP when it is run by itself; tap's own runner
 * gives each process a dozen loaders that no test here needs, which took a minute of every five.
 */
import { execFile, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ChildrenCpu } from './cost.js';
import { type Skip, TapCount } from './tap-count.js';

/** Whole clusters take minutes where tap would wait for half of one. */
const timeoutSeconds = 900;
/** Time for a test after its limit, to report which of its parts hung. */
const patienceMs = 30_000;
const maxOutputBytes = 64 * 1024 * 1024;
/** How long a process that a test left behind may keep the output open. */
const lingerMs = 5000;

const together = fileURLToPath(new URL('./together.js', import.meta.url));

export interface Result {
  readonly passed: number;
  readonly failed: number;
  readonly skips: readonly Skip[];
  /** The output of failed tests. */
  readonly failures: readonly string[];
  readonly cpuSeconds: number;
}

/** Never rejects: files that cannot be run, or whose process ends as it should not, have failed. */
export function runFiles(files: readonly string[], cpu: ChildrenCpu): Promise<Result> {
  const child = spawn(process.execPath, ['--enable-source-maps', ...(files.length > 1 ? [together] : []), ...files], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TAP_TIMEOUT: String(timeoutSeconds) },
  });
  const tap = new TapCount();
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) tap.add(line);
  });
  const overdue = setTimeout(() => child.kill('SIGKILL'), timeoutSeconds * 1000 + patienceMs);
  return new Promise((resolve) => {
    let end = 'did not end';
    let cpuSeconds = 0;
    const finish = () => {
      clearTimeout(overdue);
      child.stdout.destroy();
      if (rest !== '') tap.add(rest);
      const { passed, failed, failures } = tap;
      const skips = tap.skips.map(({ name, why }) => ({
        name: name || `all of ${files.length > 1 ? 'a file' : files[0]}`,
        why,
      }));
      if (end === '' || failed > 0) resolve({ passed, failed, skips, failures, cpuSeconds });
      else {
        const whole = `not ok - ${files.join(' ')}: ${end}`;
        resolve({ passed, failed: 1, skips, failures: [...failures, whole], cpuSeconds });
      }
    };
    child.once('error', (error) => {
      end = error.message;
      finish();
    });
    child.once('exit', (code, signal) => {
      cpuSeconds = cpu.takeSeconds();
      end = code === 0 ? '' : `ended with ${signal ?? code}`;
      const linger = setTimeout(finish, lingerMs);
      child.once('close', () => {
        clearTimeout(linger);
        finish();
      });
    });
  });
}

/** One that passes when it ends with 0; its output is shown when it does not. Never rejects. */
export function runProgram(path: string, cpu: ChildrenCpu): Promise<Result> {
  return new Promise((resolve) => {
    execFile(path, { maxBuffer: maxOutputBytes }, (error, stdout, stderr) => {
      const failures = error === null ? [] : [`not ok - ${path}: ${error.message.split('\n')[0]}`, stdout, stderr];
      const failed = error === null ? 0 : 1;
      resolve({ passed: 1 - failed, failed, skips: [], failures, cpuSeconds: cpu.takeSeconds() });
    });
  });
}
