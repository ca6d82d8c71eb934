/**
 * Jobs under random faults (rejected and lost requests, lagging caches, restarts): each finished pod is counted once, no
 * index is done without a succeeded pod, and no pod is left when the job is finished.
 */
import t from 'tap';
import { jobs } from '#api/batch/v1/resources.gen.js';
import type { Job } from '#api/batch/v1/types.gen.js';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { conflict, internalError, type StatusError, tooManyRequests } from '#apimachinery/errors/status.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { losingResponses } from '#controllers/framework/testing/lost-responses.js';
import { JobController } from '#controllers/job/controller.js';

const seeds = Array.from({ length: 40 }, (_, i) => 7000 + i);
const labels = { 'controller-uid': 'x' };
const mark = 'batch.orch.io/job-tracking';
const completions = 12;

for (const seed of seeds) {
  t.test(`seed ${seed}`, async (t) => {
    const random = seededRandom(seed);
    const indexed = seed % 2 === 0;
    const harness = new Harness(t, [jobs, pods]);
    const { api, clock } = harness;
    let losing = true;
    const client = losingResponses(harness.context.client, () => losing && random() < 0.04);
    const context = { ...harness.context, client };
    api.seed<Job>(jobs, {
      metadata: { name: 'work', namespace: 'default', annotations: { [mark]: '' } },
      spec: {
        parallelism: 4,
        completions,
        backoffLimit: 1000,
        ...(indexed ? { completionMode: 'Indexed' } : {}),
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } },
      },
    });
    // Replace a controller in the middle of its work.
    let stop = new AbortController();
    let running = Promise.resolve();
    t.teardown(async () => {
      stop.abort();
      await running;
    });
    const boot = () => {
      stop = new AbortController();
      running = new JobController(context, { concurrency: 2, trackWithFinalizers: true, readyPods: true }).run(
        stop.signal,
      );
    };
    const reboot = async () => {
      stop.abort();
      await harness.advance(1);
      await running;
      boot();
    };
    boot();
    await harness.start();
    const heal = api.intercept((call): StatusError | undefined => {
      const dice = random();
      if (dice < 0.05) return internalError(new Error('fault'));
      if (dice < 0.1) return conflict({ group: '', resource: call.resource }, call.name ?? '', 'fault');
      return dice < 0.12 ? tooManyRequests('fault', 1) : undefined;
    });
    const succeeded = new Map<string, string | undefined>();
    const failed = new Set<string>();
    const problems: string[] = [];
    const status = () => api.get(jobs, 'default/work')?.status;
    const over = () => status()?.completionTime !== undefined;
    const live = () =>
      api
        .list(pods)
        .filter(
          ({ metadata, status: { phase } = {} }) =>
            metadata.deletionTimestamp === undefined && phase !== 'Succeeded' && phase !== 'Failed',
        );
    const end = (pod: Pod, phase: 'Succeeded' | 'Failed') => {
      const { uid = '', name, annotations, finalizers } = pod.metadata;
      // A pod without the finalizer is about to be deleted, and does not count.
      if (!finalizers?.includes(mark)) return;
      api.change<Pod>(pods, `default/${name}`, (each) => {
        each.status = { phase };
        each.metadata.creationTimestamp = formatTime(clock.now() - 600_000);
      });
      if (phase === 'Failed') failed.add(uid);
      else succeeded.set(uid, annotations?.['batch.orch.io/job-completion-index']);
    };
    const remove = (pod: Pod) => {
      if (!pod.metadata.finalizers?.includes(mark)) return;
      if (pod.status?.phase === undefined) failed.add(pod.metadata.uid ?? '');
      api.change<Pod>(pods, `default/${pod.metadata.name}`, (each) => {
        each.metadata.deletionTimestamp = formatTime(clock.now());
      });
    };
    const thaw: (() => void)[] = [];
    const turn = async () => {
      const dice = random();
      if (dice < 0.05) api.dropWatches();
      else if (dice < 0.15) thaw.push(harness.freeze(random() < 0.5 ? 'pods' : 'jobs'));
      else if (dice < 0.35) thaw.pop()?.();
      else if (dice < 0.4) api.compact();
      else if (dice < 0.5) await reboot();
      else if (dice < 0.6) for (const pod of api.list(pods).slice(0, 2)) remove(pod);
      await harness.advance(Math.floor(random() * 5000));
      const { succeeded: done = 0, failed: lost = 0 } = status() ?? {};
      if (done > succeeded.size) problems.push(`${done} of ${succeeded.size} successes counted`);
      if (lost > failed.size) problems.push(`${lost} of ${failed.size} failures counted`);
      if (over()) return;
      for (const pod of live()) if (random() < 0.3) end(pod, random() < 0.7 ? 'Succeeded' : 'Failed');
    };
    for (let i = 0; i < 40; i += 1) await turn();
    for (const undo of thaw) undo();
    heal();
    losing = false;
    for (let i = 0; i < 600 && !over(); i += 1) {
      await harness.advance(2000);
      for (const pod of live()) if (random() < 0.5) end(pod, 'Succeeded');
    }
    await harness.advance(600_000);
    t.same(problems, []);
    const last = status();
    if (indexed) {
      t.match(last, { completedIndexes: '0-11', succeeded: completions });
      t.equal(new Set(succeeded.values()).size, completions);
    } else t.equal(last?.succeeded, succeeded.size);
    t.equal(last?.failed ?? 0, failed.size);
    t.same(last?.uncountedTerminatedPods ?? {}, {});
    t.same(live(), []);
    for (const pod of api.list(pods)) t.notOk(pod.metadata.finalizers?.includes(mark));
  });
}
