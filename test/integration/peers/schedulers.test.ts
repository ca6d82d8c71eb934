/**
 * In the `kubernetes` dialect the scheduler works with another implementation's API server, and another
 * implementation's scheduler with ours: skipped unless their programs are given by path.
 */
import t from 'tap';
import { freePort } from '#test/free-port.js';
import { own, peer, startApiServer } from '#test/integration/peers/implementations.js';
import { schedulerWorks } from '#test/integration/peers/placement.js';
import { schedulerExplains } from '#test/integration/peers/scheduler-explanation.js';

t.setTimeout(300_000);

for (const [name, { server, scheduler, variable }] of Object.entries({
  'our scheduler, our API server': { server: own('orch-apiserver'), scheduler: own('orch-scheduler'), variable: '' },
  'our scheduler, another API server': {
    server: peer('PEER_APISERVER'),
    scheduler: own('orch-scheduler'),
    variable: 'PEER_APISERVER',
  },
  'another scheduler, our API server': {
    server: own('orch-apiserver'),
    scheduler: peer('PEER_SCHEDULER'),
    variable: 'PEER_SCHEDULER',
  },
})) {
  const skip = server === undefined || scheduler === undefined ? `no path in ${variable}` : false;
  t.test(name, { skip }, async (t) => {
    if (server === undefined || scheduler === undefined) return;
    const running = await startApiServer(t, server);
    const { client, schedulerConfig, startScheduler, log } = running;
    const delegated = ['authentication', 'authorization'].map((what) => `--${what}-kubeconfig=${schedulerConfig}`);
    const port = variable === '' ? await freePort() : 0;
    startScheduler(scheduler, port, ...(port === 0 ? [] : delegated));
    await schedulerWorks(t, client);
    if (port !== 0) await schedulerExplains(t, running, port, 'hopeless');
    if (!t.passing()) t.comment(log());
  });
}
