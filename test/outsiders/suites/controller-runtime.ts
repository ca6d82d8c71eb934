/** The tests of controller-runtime, whose test environment starts an API server of this project. */
import { join } from 'node:path';
import { readGoOutput } from '#test/outsiders/go-output.js';
import { linkPrograms, writeDaemonScript } from '#test/outsiders/programs.js';
import type { SuiteResult } from '#test/outsiders/report.js';
import { runLogged } from '#test/outsiders/run-logged.js';
import { inSurroundings } from '#test/outsiders/surroundings.js';

/** For starting and stopping; its own 20 s are short for machines that do other things, too. */
const timeout = '120s';

export function controllerRuntime(): Promise<SuiteResult> {
  return inSurroundings('controller-runtime', async ({ built, folder, log }) => {
    const assets = join(folder, 'assets');
    await linkPrograms(assets, { etcd: '/usr/bin/etcd', kubectl: join(built, 'bin', 'kubectl') });
    await writeDaemonScript(join(assets, 'kube-apiserver'), 'orch-apiserver');
    const env = {
      KUBEBUILDER_ASSETS: assets,
      KUBEBUILDER_CONTROLPLANE_START_TIMEOUT: timeout,
      KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT: timeout,
      GOFLAGS: '-mod=mod',
    };
    const args = ['test', '-vet=off', '-p', '1', '-v', '-timeout', '60m', '-ldflags', '-checklinkname=0', './pkg/...'];
    return readGoOutput(await runLogged('go', args, { env, cwd: join(built, 'controller-runtime'), log }));
  });
}
