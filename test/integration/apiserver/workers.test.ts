/** An API server with several processes, some of which are stopped or killed. */
import t, { type Test } from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { definitionsEverywhere } from '#test/integration/apiserver/workers/definitions.js';
import { type ServerProcess, startServerProcess } from '#test/integration/apiserver/workers/program.js';
import { ResumingWatch } from '#test/integration/apiserver/workers/resuming-watch.js';

/** The long form is for soak runs. */
const long = process.env['WORKERS_SOAK'] !== undefined;
const watcherCount = long ? 200 : 20;
const writeCount = long ? 20_000 : 400;
const kills = long ? 20 : 2;
const keys = 30;
t.setTimeout(long ? 3_600_000 : 300_000);

const definitions = '/apis/apiextensions.orch.io/v1/customresourcedefinitions';
const scope = '/api/v1/namespaces/default/configmaps';

interface ConfigMap {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly data: { readonly value: string };
}

void t.test('an API server with two workers', async (t) => {
  // The store's history is compacted all the time; watches resume from the server's own.
  // Workers wait for records that another worker has yet to write.
  const gates = '--feature-gates=APIServerIdentity=true,StorageVersionAPI=true';
  const argv = ['--etcd-compaction-interval', long ? '10s' : '1s', gates];
  const server = await startServerProcess({ workers: 2, teardown: (task) => t.teardown(task), argv });
  await t.test('watchers see everything although workers die', (t) =>
    watchersSeeEverythingAlthoughWorkersDie(t, server),
  );
  await t.test('other workers continue while one is stopped', (t) => othersGoOnWhileOneIsHeld(t, server));
  await t.test('all workers serve the same definitions', (t) =>
    definitionsEverywhere(t, {
      path: definitions,
      askers: [(...request) => server.ask(...request)],
      rounds: 6,
      each: 12,
    }),
  );
  await t.test('removed definitions leave nothing behind', (t) => leavesNothing(t, server));
  await t.test('all processes end on request', (t) => allEnd(t, server));
});

async function watchersSeeEverythingAlthoughWorkersDie(t: Test, server: ServerProcess): Promise<void> {
  const { metadata } = JSON.parse((await server.ask(scope)).text) as { metadata: { resourceVersion: string } };
  const watches = Array.from(
    { length: watcherCount },
    () => new ResumingWatch(server, scope, metadata.resourceVersion),
  );
  const running = Promise.all(watches.map((watch) => watch.run()));
  await server.until(() => watches.every(({ connections }) => connections > 0));
  const { acknowledged, uncertain } = await writeWhileWorkersDie(server);
  await server.until(async () => (await server.metric('apiserver_worker_restarts_total{reason="died"}')) === kills);
  const last = await server.ask(scope, 'POST', { metadata: { name: 'last' }, data: { value: 'x' } });
  const { resourceVersion } = (JSON.parse(last.text) as ConfigMap).metadata;
  const end = `ADDED last=x@${resourceVersion}`;
  await server.until(() => watches.every(({ events }) => events.at(-1) === end));
  for (const watch of watches) watch.stop();
  await running;
  const [first = { events: [] }] = watches;
  for (const [i, { events }] of watches.entries()) t.same(events, first.events, `watcher ${i} saw what the first saw`);
  t.equal(new Set(first.events).size, first.events.length, 'no event came twice');
  t.ok(watches.some(({ connections }) => connections > 1));
  const seen = new Set(first.events.map((event) => event.slice(event.indexOf(' ') + 1)));
  t.same(
    acknowledged.filter((write) => !seen.has(write)),
    [],
    'all acknowledged writes were seen',
  );
  t.ok(first.events.length - 1 - acknowledged.length <= uncertain, 'no other events came');
}

async function othersGoOnWhileOneIsHeld(t: Test, server: ServerProcess): Promise<void> {
  t.equal((await server.ask(scope, 'POST', { metadata: { name: 'a' }, data: { value: '0' } })).status, 201);
  const total = 40;
  const answers = await Promise.all(Array.from({ length: total }, () => server.ask(`${scope}/a`)));
  t.ok(answers.every(({ status }) => status === 200));
  const counted =
    'apiserver_request_total{verb="GET",group="",version="v1",resource="configmaps",subresource="",scope="resource",dry_run="",component="apiserver",code="200"}';
  t.equal(await server.metric(counted), total, 'metrics are those of all processes');
  // A worker that died earlier may still be restarting.
  await server.until(async () => (await server.metric('apiserver_workers')) === 2);

  let ended: string | undefined;
  server.ask('/planted/hold?ms=600000').then(
    () => {
      ended = 'answered';
    },
    () => {
      ended = 'broken off';
    },
  );
  await server.until(() => server.log.includes('holding'));
  const lease = { metadata: { name: 'leader' }, spec: { holderIdentity: 'a' } };
  const leases = '/apis/coordination.orch.io/v1/namespaces/default/leases';
  t.equal((await server.ask(leases, 'POST', lease)).status, 201);
  let rounds = 0;
  while (ended === undefined) {
    t.equal((await server.ask('/livez')).status, 200);
    t.equal((await server.ask(`${scope}/a`)).status, 200);
    const renewed = { spec: { holderIdentity: `${rounds}` } };
    t.equal((await server.ask(`${leases}/leader`, 'PATCH', renewed)).status, 200);
    if (ended === undefined) rounds++;
  }
  t.ok(rounds > 0, 'all that time others were answered');
  t.equal(ended, 'broken off', 'it ends at last');
  await server.until(async () => (await server.metric('apiserver_workers')) === 2);
  t.equal(await server.metric('apiserver_worker_restarts_total{reason="held"}'), 1);
  t.ok((await server.metric(counted)) >= total, 'counts of an ended worker are kept');
}

/** Metrics of definitions that have come and gone, and of their objects. */
async function leavesNothing(t: Test, server: ServerProcess): Promise<void> {
  const services = '/apis/apiregistration.orch.io/v1/apiservices';
  await server.until(async () => !(await server.ask(services)).text.includes('example.com'));
  t.notMatch((await server.ask('/openapi/v3')).text, 'example.com');
  // Counts of workers that have ended are kept.
  const left = /^(?!apiserver_(request|response)_).*example\.com/m;
  await server.until(async () => !left.test((await server.ask('/metrics')).text));
}

async function allEnd(t: Test, server: ServerProcess): Promise<void> {
  const started = 2 + kills + 1;
  await server.until(() => server.log.split('"worker serves"').length - 1 === started);
  const watch = await server.open(`${scope}?watch=true`);
  server.child.kill('SIGTERM');
  for await (const _ of watch);
  t.same(await server.exited, [0, null]);
  t.equal(server.log.split('"stopped" code=0').length - 1, 3, 'all processes ended by themselves');
  t.equal(server.log.split('received a signal').length - 1, 1, 'one process logs the signal');
}

/** Writes until all are acknowledged, and kills workers meanwhile. */
async function writeWhileWorkersDie(server: ServerProcess): Promise<{ acknowledged: string[]; uncertain: number }> {
  const random = seededRandom(20_242);
  const acknowledged: string[] = [];
  let uncertain = 0;
  let killed = 0;
  let value = 0;
  const one = async () => {
    const name = `m${Math.floor(random() * keys)}`;
    const body = { metadata: { name }, data: { value: String(value++) } };
    let { status, text } = await server.ask(`${scope}/${name}`, 'PUT', body);
    if (status === 404) ({ status, text } = await server.ask(scope, 'POST', body));
    if (status !== 200 && status !== 201) return;
    const { resourceVersion } = (JSON.parse(text) as ConfigMap).metadata;
    acknowledged.push(`${name}=${body.data.value}@${resourceVersion}`);
  };
  const writer = async () => {
    while (acknowledged.length < writeCount) {
      await one().catch(() => {
        // The connection broke off: the object may have been written or not.
        uncertain++;
      });
      if (killed === kills || acknowledged.length < ((killed + 1) * writeCount) / (kills + 1)) continue;
      killed++;
      server.child.kill('SIGUSR2');
    }
  };
  await Promise.all(Array.from({ length: 4 }, writer));
  return { acknowledged, uncertain };
}
