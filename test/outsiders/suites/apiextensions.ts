/** The integration tests of k8s.io/apiextensions-apiserver, each with an API server of this project. */
import { join } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { ensureClusterPki } from '#cmd/orch/pki/cluster-pki.js';
import { startEtcd } from '#test/etcd.js';
import { readGoOutput } from '#test/outsiders/go-output.js';
import { writeDaemonScript } from '#test/outsiders/programs.js';
import type { SuiteResult } from '#test/outsiders/report.js';
import { runLogged } from '#test/outsiders/run-logged.js';
import { inSurroundings } from '#test/outsiders/surroundings.js';

const timeout = '60m';

export function apiextensions(): Promise<SuiteResult> {
  return inSurroundings('apiextensions', async ({ built, folder, ends, log }) => {
    const etcd = await startEtcd();
    ends.teardown(() => etcd.stop());
    const { serviceAccount } = await ensureClusterPki(folder, { dialect, names: [], ips: [], now: realClock.now() });
    const server = join(folder, 'apiserver');
    await writeDaemonScript(server, 'orch-apiserver', [
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${serviceAccount.publicKeyFile}`,
      `--service-account-signing-key-file=${serviceAccount.privateKeyFile}`,
    ]);
    const env = { OUTSIDERS_APISERVER: server, KUBE_INTEGRATION_ETCD_URL: etcd.endpoint };
    const args = ['-test.v', `-test.timeout=${timeout}`];
    const module = join(built, 'apiextensions');
    let output = '';
    for (const [name, cwd] of [
      ['integration', join(module, 'test', 'integration')],
      ['conversion', join(module, 'test', 'integration', 'conversion')],
    ] as const)
      output += await runLogged(join(module, `${name}.test`), args, {
        env,
        cwd,
        log: log.replace(/(\.log)$/, `-${name}$1`),
      });
    return readGoOutput(output);
  });
}
