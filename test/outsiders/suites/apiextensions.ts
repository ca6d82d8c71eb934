/** The integration tests of k8s.io/apiextensions-apiserver, each with an API server of this project. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { ensureClusterPki } from '#cluster/pki/cluster-pki.js';
import { allWithin } from '#controllers/framework/bounded-concurrency.js';
import { startEtcd } from '#test/etcd.js';
import { readGoOutput } from '#test/outsiders/go-output.js';
import { writeDaemonScript } from '#test/outsiders/programs.js';
import type { SuiteResult } from '#test/outsiders/report.js';
import { runLogged } from '#test/outsiders/run-logged.js';
import { inSuiteEnvironment } from '#test/outsiders/suite-environment.js';

const timeout = '20m';
/** Number of concurrent tests, which mostly wait. */
const concurrency = 3;

/** @param only A regular expression for test names; empty: all. */
export function apiextensions(only: string): Promise<SuiteResult> {
  return inSuiteEnvironment('apiextensions', async ({ built, folder, cleanup, log }) => {
    const etcd = await startEtcd();
    cleanup.teardown(() => etcd.stop());
    const { serviceAccount } = await ensureClusterPki(folder, { dialect, names: [], ips: [], now: realClock.now() });
    const server = join(folder, 'apiserver');
    await writeDaemonScript(server, 'orch-apiserver', [
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${serviceAccount.publicKeyFile}`,
      `--service-account-signing-key-file=${serviceAccount.privateKeyFile}`,
    ]);
    const env = { OUTSIDERS_APISERVER: server, KUBE_INTEGRATION_ETCD_URL: etcd.endpoint };
    const module = join(built, 'apiextensions');
    let output = '';
    for (const [name, cwd] of [
      ['integration', join(module, 'test', 'integration')],
      ['conversion', join(module, 'test', 'integration', 'conversion')],
    ] as const) {
      const program = join(module, `${name}.test`);
      const listed = (await promisify(execFile)(program, ['-test.list', '.'], { cwd })).stdout;
      const tests = listed
        .split('\n')
        .filter((test) => /^Test/.test(test) && (only === '' || new RegExp(only).test(test)));
      // A test that panics ends its process, so each test gets its own.
      await allWithin(tests, concurrency, async (test) => {
        const args = ['-test.v', `-test.timeout=${timeout}`, `-test.run=^${test}$`];
        const text = await runLogged(program, args, { env, cwd, log: join(folder, `${test}.log`) });
        output += text;
      });
    }
    await writeFile(log, output);
    return readGoOutput(output);
  });
}
