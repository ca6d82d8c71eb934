/**
 * kubectl's own test script, with a kubectl of release 1.24, on an API server and a controller manager of this project. It
 * takes fixed ports, so it gets a network of its own.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readKubectlOutput } from '#test/outsiders/kubectl-output.js';
import { linkPrograms, writeDaemonScript, writeScript } from '#test/outsiders/programs.js';
import type { SuiteResult } from '#test/outsiders/report.js';
import { runLogged } from '#test/outsiders/run-logged.js';
import { inSurroundings } from '#test/outsiders/surroundings.js';

/** @param groups Of tests, by the names of their functions without `run_` and `_tests`; all if there are none. */
export function kubectlScript(groups: readonly string[]): Promise<SuiteResult> {
  return inSurroundings('kubectl', async ({ built, folder, log }) => {
    const release = join(built, 'kubernetes');
    const output = join(release, '_output');
    await rm(output, { recursive: true, force: true });
    // Where the script looks for what it has had built.
    const programs = join(output, 'local', 'bin', 'linux', process.arch === 'x64' ? 'amd64' : process.arch);
    const names = ['kubectl', 'kubectl-convert'];
    await linkPrograms(programs, Object.fromEntries(names.map((name) => [name, join(built, 'bin', name)])));
    await writeDaemonScript(join(programs, 'kube-apiserver'), 'orch-apiserver');
    await writeDaemonScript(join(programs, 'kube-controller-manager'), 'orch-controller-manager');
    const first = join(folder, 'bin');
    await linkPrograms(first, {});
    // Nothing is left to build, and what it takes for kubeadm's tests is another suite.
    await writeScript(join(first, 'make'), 'exit 0');
    // It takes variables that begin so for its options.
    await writeScript(join(first, 'etcd'), 'unset ETCD_VERSION ETCD_HOST ETCD_PORT', 'exec /usr/bin/etcd "$@"');
    const env = {
      PATH: `${first}:${process.env['PATH'] ?? ''}`,
      TMPDIR: folder,
      SERVICE_ACCOUNT_KEY: join(folder, 'service-account.key'),
      KUBE_JUNIT_REPORT_DIR: join(folder, 'junit'),
      // Debian's is older than what it asks for.
      ETCD_VERSION: '3.4.0',
      // Patch releases differ.
      ALLOW_SKEW: 'y',
      WHAT: groups.join(' '),
    };
    const script = 'ip link set lo up && exec bash hack/make-rules/test-cmd.sh';
    const said = await runLogged('unshare', ['--net', 'sh', '-c', script], { env, cwd: release, log });
    return readKubectlOutput(said);
  });
}
