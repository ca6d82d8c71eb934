/**
 * One API server over an etcd in a process that can be killed: `node api-server-process.js ENDPOINT`, started by `fork`.
 * Sends its port; on request it ends with 0, unless its caches differed from etcd.
 */
import { realClock } from '#apimachinery/clock.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { runServer } from '#test/integration/apiserver/server.js';

const [, , endpoint] = process.argv;
if (endpoint === undefined || process.send === undefined) throw new Error('started by fork with an endpoint of etcd');

const orphaned = () => process.exit(1);
process.once('disconnect', orphaned);

const store = new EtcdStore({ endpoints: [endpoint], clock: realClock, random: Math.random });
const { server, stop } = await runServer({ store, https: true });
process.once('message', async () => {
  process.off('disconnect', orphaned);
  await stop();
  await store.close();
  process.disconnect();
});
process.send(server.address?.port);
