/** The tests of controller-runtime, with this project's programs in place of envtest's. */
import { join } from 'node:path';
import { root } from '#test/e2e/harness.js';
import { readGoOutput } from '#test/outsiders/go-output.js';
import { linkPrograms } from '#test/outsiders/programs.js';
import type { SuiteResult } from '#test/outsiders/report.js';
import { runLogged } from '#test/outsiders/run-logged.js';
import { inSuiteEnvironment } from '#test/outsiders/suite-environment.js';

/** Time limit for starting and stopping; the default of 20 s is too short for loaded machines. */
const timeout = '120s';

export function controllerRuntime(): Promise<SuiteResult> {
  return inSuiteEnvironment('controller-runtime', async ({ built, folder, log }) => {
    const assets = join(folder, 'assets');
    const own = (program: string) => join(root, 'bin', 'envtest', program);
    const programs = { etcd: own('etcd'), 'kube-apiserver': own('kube-apiserver') };
    await linkPrograms(assets, { ...programs, kubectl: join(built, 'bin', 'kubectl') });
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
