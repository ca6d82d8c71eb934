/**
 * Measures how long a controller takes for a queue of dirty keys: `KEYS=10000` ReplicaSets that need one write each, and
 * again after a restart, when there is nothing to do. The API server is in the same process.
 */
import { Registry } from 'prom-client';
import { replicasets } from '#api/apps/v1/resources.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { RestClient } from '#client/rest/rest-client.js';
import { ControllerManager } from '#controllers/manager.js';
import { controllerManagerValues } from '#controllers/options/options.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { inGroups } from '#test/bench/controllers/objects.js';
import { figure, machineLine, seconds } from '#test/bench/report.js';
import { runServer } from '#test/integration/apiserver/server.js';

const keys = Number(process.env['KEYS'] ?? 10_000);

process.stdout.write(`${machineLine()}\n`);
const { server, stop } = await runServer({ dialect, store: new MemoryStore({ clock }) });
const user = { name: 'bench', groups: [dialect.groups.masters] };
const client = new RestClient({ transport: new InProcessTransport({ handler: server.handler, user }), dialect, clock });
const labels = { app: 'web' };
const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
await inGroups(keys, (n) =>
  client.resource(replicasets).create({
    metadata: { name: `web-${n}`, namespace: 'default' },
    spec: { replicas: 0, selector: { matchLabels: labels }, template },
  }),
);
await drained(`${keys} keys with a write each`);
await drained(`${keys} keys with nothing to do`);
await client.close();
await stop();

/** From the start of a manager until it has reconciled every key and the queue is empty. */
async function drained(what: string): Promise<void> {
  const metrics = new Registry();
  const values = controllerManagerValues(dialect, { 'leader-elect': false, controllers: ['replicaset'] });
  const events = () => ({ record: () => undefined });
  const manager = new ControllerManager(values, { client, dialect, clock, random: Math.random, log, events, metrics });
  const end = new AbortController();
  const { user: userBefore, system: systemBefore } = process.cpuUsage();
  const startedMs = clock.monotonic();
  const running = manager.start(end.signal);
  await manager.ready();
  const syncedMs = clock.monotonic();
  const value = async (name: string, key: string) => {
    const { values: series } = (await metrics.getSingleMetric(name)?.get()) ?? { values: [] };
    const match = series.filter(({ labels: of, ...more }) => {
      const own = 'metricName' in more ? more.metricName : name;
      return of['name'] === 'replicaset' && own === key;
    });
    return match.reduce((sum, { value: one }) => sum + one, 0);
  };
  const finished = () => value('workqueue_work_duration_seconds', 'workqueue_work_duration_seconds_count');
  while ((await finished()) < keys || (await value('workqueue_depth', 'workqueue_depth')) > 0) await clock.sleep(5);
  const endedMs = clock.monotonic();
  const { user: userNow, system: systemNow } = process.cpuUsage();
  figure(`${what}, from the manager's start`, seconds(endedMs - startedMs));
  figure('  of that after its caches had synced', seconds(endedMs - syncedMs));
  figure('  CPU time, the API server included', seconds((userNow + systemNow - userBefore - systemBefore) / 1000));
  end.abort();
  await running;
  await manager.close();
}
