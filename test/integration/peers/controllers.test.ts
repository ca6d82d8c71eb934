/**
 * In the `kubernetes` dialect the controllers work with another implementation's API server, and another
 * implementation's controllers with ours: skipped unless their programs are given by path.
 */
import t from 'tap';
import { own, peer, startApiServer } from '#test/integration/peers/implementations.js';
import { controllersWork } from '#test/integration/peers/scenario.js';

t.setTimeout(300_000);

const apiServer = peer('PEER_APISERVER');
const manager = peer('PEER_CONTROLLER_MANAGER');

for (const [name, { server, controllers, variable }] of Object.entries({
  'our controllers, our API server': {
    server: own('orch-apiserver'),
    controllers: own('orch-controller-manager'),
    variable: '',
  },
  'our controllers, another API server': {
    server: apiServer,
    controllers: own('orch-controller-manager'),
    variable: 'PEER_APISERVER',
  },
  'other controllers, our API server': {
    server: own('orch-apiserver'),
    controllers: manager,
    variable: 'PEER_CONTROLLER_MANAGER',
  },
})) {
  const skip = server === undefined || controllers === undefined ? `no path in ${variable}` : false;
  t.test(name, { skip }, async (t) => {
    if (server === undefined || controllers === undefined) return;
    const { client, startManager, log } = await startApiServer(t, server);
    startManager(controllers, '--node-monitor-period=1s', '--node-monitor-grace-period=8s');
    await controllersWork(t, client);
    if (!t.passing()) t.comment(log());
  });
}
