/** A server over etcd with nodes, users without rights, and those whom no flood must disturb. */
import type { Test } from 'tap';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { startEtcd } from '#test/etcd.js';
import { clusterCredentials, startCompleteServer } from '#test/integration/apiserver/complete-server.js';
import { errands, tokenFile, withNodes } from '#test/integration/apiserver/floods/victims.js';
import { openStore } from '#test/integration/apiserver/spec/spec-server.js';

export interface Place {
  readonly port: number;
  readonly work: ReturnType<typeof errands>;
}

export async function startPlace(t: Test): Promise<Place> {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const { argv } = await clusterCredentials(t, dialect, tokenFile(1));
  const server = await startCompleteServer(t, {
    dialect,
    argv: withNodes(argv),
    store: openStore(etcd),
    listens: true,
  });
  const port = server.address?.port ?? 0;
  const work = errands(port);
  t.teardown(() => work.close());
  return { port, work };
}
