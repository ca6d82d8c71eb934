/**
 * What tests pay for time, rest and snapshots: a settle at rest, a day of a nightly job, and the save and restore of a
 * cluster with 1,000 more objects, all changed or deleted. Each the median of ten; ms.
 */
import { cronjobs } from '#api/batch/v1/resources.gen.js';
import { configmaps } from '#api/core/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { ManualClock } from '#apimachinery/time/manual-clock.js';
import { startTestCluster } from '#testcluster/start-test-cluster.js';

const objects = 1000;
const times = 10;
const namespace = 'default';

const startedMs = performance.now();
const clock = new ManualClock({ startMs: realClock.now(), process: realClock });
const { cluster, close } = await startTestCluster({ nodes: 3, port: 0, clock });
const { client } = cluster;
const post = (path: string, body: object = {}) => client.request<Record<string, unknown>>('POST', path, body);
print('start with controllers and 3 nodes', [performance.now() - startedMs]);

function print(what: string, ms: number[]): void {
  const median = ms.sort((a, b) => a - b)[Math.floor(ms.length / 2)] ?? 0;
  console.log(`${what}: ${median.toFixed(1)} ms`);
}

async function measure(what: string, work: () => Promise<unknown>, before?: () => Promise<unknown>): Promise<void> {
  const ms: number[] = [];
  for (let time = 0; time < times; time += 1) {
    await before?.();
    const beganMs = performance.now();
    await work();
    ms.push(performance.now() - beganMs);
  }
  print(what, ms);
}

const name = (index: number) => `object-${index}`;
const each = (work: (index: number) => Promise<unknown>) =>
  Promise.all(Array.from({ length: objects }, (_, index) => work(index)));

await each((index) =>
  client.resource(configmaps).create({ metadata: { name: name(index), namespace }, data: { text: 'x'.repeat(500) } }),
);
await measure('settle at rest', () => post('/test/settle'));
await measure('save', () => post('/test/snapshots', { save: 'bench' }));
await measure('restore without a change', () => post('/test/snapshots', { restore: 'bench' }));
await measure(
  `restore ${objects} changed objects`,
  () => post('/test/snapshots', { restore: 'bench' }),
  async () => {
    await each((index) =>
      client.resource(configmaps).patch(name(index), { data: { text: 'y' } }, { type: 'merge', namespace }),
    );
    await post('/test/settle');
  },
);
await measure(
  `restore ${objects} deleted objects`,
  () => post('/test/snapshots', { restore: 'bench' }),
  async () => {
    await each((index) => client.resource(configmaps).delete(name(index), { namespace }));
    await post('/test/settle');
  },
);
const container = { name: 'c', image: 'i', command: ['true'] };
await client.resource(cronjobs).create({
  metadata: { name: 'nightly', namespace },
  spec: {
    schedule: '0 0 * * *',
    jobTemplate: { spec: { template: { spec: { restartPolicy: 'Never', containers: [container] } } } },
  },
});
await measure('a day with one nightly job', () => post('/test/clock', { advance: '24h' }));
await measure('an hour without work', () => post('/test/clock', { advance: '1h' }));
await close();
