/** Jobs and cron jobs against a real API server, with a real etcd if available. */
import t from 'tap';
import { cronjobs, jobs } from '#api/batch/v1/resources.gen.js';
import type { Job, JobSpec } from '#api/batch/v1/types.gen.js';
import { events, namespaces, pods } from '#api/core/v1/resources.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { runPods, startCluster, until } from '#test/integration/controllers/cluster.js';
import { startEtcdStore } from '#test/integration/controllers/cluster-store.js';

const namespace = 'shop';

function job(name: string, image: string, spec: Partial<JobSpec> = {}): Job {
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image }] } };
  return { metadata: { name, namespace }, spec: { template, ...spec } };
}

function asking(client: Client) {
  const read = (name: string) => client.resource(jobs).get(name, { namespace });
  const condition = async (name: string, type: string) =>
    (await read(name)).status?.conditions?.find((each) => each.type === type);
  const podsOf = async (name: string) =>
    (await client.resource(pods).list({ namespace, labelSelector: `job-name=${name}` })).items;
  const is = (type: string) => (job: Job) =>
    job.status?.conditions?.some((each) => each.type === type && each.status === 'True') ?? false;
  return { read, condition, podsOf, is };
}

for (const dialect of [orchDialect, kubernetesDialect]) {
  for (const tracked of [true, false]) {
    t.test(`jobs, ${dialect.name}, ${tracked ? 'with' : 'without'} finalizers`, async (t) => {
      const gates = { JobTrackingWithFinalizers: tracked };
      const client = await startCluster(t, { dialect, gates, ...(await startEtcdStore(t)) });
      runPods(t, client);
      await client.resource(namespaces).create({ metadata: { name: namespace }, spec: {} });
      const { read, condition, podsOf, is } = asking(client);
      const make = (given: Job) => client.resource(jobs).create(given);

      await make(job('many', 'succeeds', { completions: 20, parallelism: 6, completionMode: 'Indexed' }));
      await make(job('plain', 'succeeds', { completions: 7, parallelism: 3 }));
      await make(job('bad', 'fails', { backoffLimit: 0 }));
      await make(job('waiting', 'succeeds', { suspend: true }));
      await make(job('endless', 'sleeps', { activeDeadlineSeconds: 1, parallelism: 3, completions: 3 }));
      const many = await until('indexed', () => read('many'), is('Complete'));
      t.match(many.status, { succeeded: 20, completedIndexes: '0-19', completionTime: /./ });
      t.equal(many.metadata.annotations?.[dialect.jobTracking], tracked ? '' : undefined);
      t.match((await until('plain', () => read('plain'), is('Complete'))).status, { succeeded: 7 });
      t.match((await until('bad', () => read('bad'), is('Failed'))).status, { failed: 1 });
      t.match(await condition('bad', 'Failed'), { reason: 'BackoffLimitExceeded' });
      t.match((await until('endless', () => read('endless'), is('Failed'))).status, { failed: 3 });
      t.match(await condition('endless', 'Failed'), { reason: 'DeadlineExceeded' });
      await until(
        'no pod is left',
        () => podsOf('endless'),
        (items) => items.length === 0,
      );
      await until('suspended', () => read('waiting'), is('Suspended'));
      const directed = { spec: { template: { spec: { nodeSelector: { disk: 'fast' } } } } };
      await client.resource(jobs).patch('waiting', directed, { type: 'merge', namespace });
      await client.resource(jobs).patch('waiting', { spec: { suspend: false } }, { type: 'merge', namespace });
      await until('resumed', () => read('waiting'), is('Complete'));
      t.match(await podsOf('waiting'), [{ spec: { nodeSelector: { disk: 'fast' } } }]);
      for (const name of ['many', 'plain', 'bad', 'waiting']) {
        for (const pod of await podsOf(name)) t.same(pod.metadata.finalizers ?? [], [], `${name} lets its pods go`);
      }
      const recorded = await until(
        'events',
        async () => (await client.resource(events).list({ namespace })).items,
        (items) => ['Completed', 'BackoffLimitExceeded'].every((each) => items.some(({ reason }) => reason === each)),
      );
      t.match(
        recorded.find(({ reason }) => reason === 'BackoffLimitExceeded'),
        { message: /specified backoff limit/ },
      );

      await client.resource(jobs).delete('many', { namespace, propagationPolicy: 'Background' });
      await until(
        'its pods are deleted with it',
        () => podsOf('many'),
        (items) => items.length === 0,
      );
      await make(job('short', 'succeeds', { ttlSecondsAfterFinished: 1 }));
      await until(
        'deleted after its TTL',
        async () => (await client.resource(jobs).list({ namespace })).items.map(({ metadata }) => metadata.name),
        (names) => !names.includes('short'),
      );
    });
  }
}

t.test('cron jobs', async (t) => {
  const client = await startCluster(t, { dialect: orchDialect, gates: { CronJobTimeZone: true } });
  runPods(t, client);
  await client.resource(namespaces).create({ metadata: { name: namespace }, spec: {} });
  const { spec } = job('x', 'succeeds');
  await client.resource(cronjobs).create({
    metadata: { name: 'tick', namespace },
    spec: { schedule: '@every 1s', timeZone: 'Europe/Berlin', jobTemplate: { spec } },
  });
  const done = await until(
    'a job has run',
    () => client.resource(cronjobs).get('tick', { namespace }),
    ({ status }) => status?.lastSuccessfulTime !== undefined && status.lastScheduleTime !== undefined,
  );
  const [first] = (await client.resource(jobs).list({ namespace })).items;
  t.match(first?.metadata, { name: /^tick-\d+$/, ownerReferences: [{ kind: 'CronJob', uid: done.metadata.uid }] });
  await client.resource(cronjobs).delete('tick', { namespace, propagationPolicy: 'Background' });
  await until(
    'its jobs are deleted with it',
    async () => (await client.resource(jobs).list({ namespace })).items,
    (items) => items.length === 0,
  );
});
