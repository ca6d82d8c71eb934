/**
 * kubectl's own test script, with a kubectl of release 1.24, on an API server and a controller manager of this project.
 * It uses fixed ports, so it runs in a separate network namespace.
 */

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { linkPrograms, writeDaemonScript, writeScript } from '#test/outsiders/programs.js';
import type { Failure, SuiteResult } from '#test/outsiders/report.js';
import { runLogged } from '#test/outsiders/run-logged.js';
import { inSuiteEnvironment } from '#test/outsiders/suite-environment.js';

const colors = /\u001b(\[[\d;]*m|\(B)/g;
/** A group that fails on purpose. */
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

/** The last lines before the stack trace. */
function reasonOf(lines: readonly string[]): string {
  const stack = lines.findIndex((line) => line.startsWith('!!! ['));
  return (stack === -1 ? lines : lines.slice(0, stack))
    .filter((line) => line.trim() !== '')
    .slice(-reasonLines)
    .join(' ');
}

/** @param groups Names of test functions without `run_` and `_tests`; empty: all. */
export function kubectlScript(groups: readonly string[]): Promise<SuiteResult> {
  return inSuiteEnvironment('kubectl', async ({ built, folder, log }) => {
    const release = join(built, 'kubernetes');
    const output = join(release, '_output');
    await rm(output, { recursive: true, force: true });
    // Where the script looks for its built programs.
    const programs = join(output, 'local', 'bin', 'linux', process.arch === 'x64' ? 'amd64' : process.arch);
    const names = ['kubectl', 'kubectl-convert'];
    await linkPrograms(programs, Object.fromEntries(names.map((name) => [name, join(built, 'bin', name)])));
    await writeDaemonScript(join(programs, 'kube-apiserver'), 'orch-apiserver');
    await writeDaemonScript(join(programs, 'kube-controller-manager'), 'orch-controller-manager');
    const first = join(folder, 'bin');
    await linkPrograms(first, {});
    // Nothing needs building, and kubeadm's tests are another suite.
    await writeScript(join(first, 'make'), 'exit 0');
    // etcd would read variables with this prefix as options.
    await writeScript(join(first, 'etcd'), 'unset ETCD_VERSION ETCD_HOST ETCD_PORT', 'exec /usr/bin/etcd "$@"');
    const env = {
      PATH: `${first}:${process.env['PATH'] ?? ''}`,
      TMPDIR: folder,
      SERVICE_ACCOUNT_KEY: join(folder, 'service-account.key'),
      KUBE_JUNIT_REPORT_DIR: join(folder, 'junit'),
      // Debian's etcd is older than the script requires.
      ETCD_VERSION: '3.4.0',
      // The patch releases of client and server differ.
      ALLOW_SKEW: 'y',
      WHAT: groups.join(' '),
    };
    const script = 'ip link set lo up && exec bash hack/make-rules/test-cmd.sh';
    return readKubectlOutput(await runLogged('unshare', ['--net', 'sh', '-c', script], { env, cwd: release, log }));
  });
}
