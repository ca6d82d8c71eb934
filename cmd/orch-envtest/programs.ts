/** The programs of a KUBEBUILDER_ASSETS, chosen by the first argument: `etcd` or `kube-apiserver`. */
import { guard } from '#daemon/process/guarded-process.js';
import { run } from '#daemon/run.js';
import { ApiServerHost } from '#testcluster/envtest/api-server-host.js';
import { fromEnvironment, withTwoDashes } from '#testcluster/envtest/etcd-options.js';
import { envtestEtcd } from '#testcluster/envtest/etcd-program.js';

const guarded = guard(process);
const [node = '', file = '', program, ...argv] = process.argv;

/** Loaded when it is needed: etcd answers before. */
const loadApiServer = () => import('#testcluster/envtest/api-server-program.js');

if (program === 'etcd') {
  const etcd = envtestEtcd(
    (store) =>
      new ApiServerHost({
        pid: process.pid,
        uid: process.getuid?.() ?? 0,
        folder: process.cwd(),
        load: async () => {
          const { envtestApiServer, inReleaseDialect } = await loadApiServer();
          return ({ argv: own, ...guest }) =>
            run(envtestApiServer(store), { ...guest, argv: [node, file, ...inReleaseDialect(own.slice(2))] });
        },
      }),
  );
  const options = [...fromEnvironment(process.env), ...withTwoDashes(argv)];
  process.exitCode = await run(etcd, { ...guarded, argv: [node, file, ...options] });
} else if (program === 'kube-apiserver') {
  const { envtestApiServer, inReleaseDialect } = await loadApiServer();
  process.exitCode = await run(envtestApiServer(), { ...guarded, argv: [node, file, ...inReleaseDialect(argv)] });
} else {
  process.stderr.write(
    `orch-envtest: no program ${JSON.stringify(program ?? '')}; there are etcd and kube-apiserver\n`,
  );
  process.exitCode = 2;
}
