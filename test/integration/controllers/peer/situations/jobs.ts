/** Jobs of all modes. */
import {
  create,
  job,
  patch,
  pod,
  pods,
  remove,
  situation,
  wait,
} from '#test/integration/controllers/peer/manifests.js';
import type { JsonObject, Situation, Step } from '#test/integration/controllers/peer/situation.js';

const succeed = (first?: number): Step => pods('succeeded', first === undefined ? {} : { first });
const fail = (first = 1): Step => pods('failed', { first });
const spec = (body: JsonObject): Step => patch('Job/j', { spec: body });
const indexed = { completionMode: 'Indexed' };

/** Parallelism, completions. */
const counts: readonly [parallelism: number | null, completions: number | null][] = [
  [1, 1],
  [2, 2],
  [2, 4],
  [3, 2],
  [0, 2],
  [2, null],
  [1, null],
  [null, 3],
  [2, 0],
];

const modes: readonly Situation[] = counts.flatMap(([parallelism, completions]) => {
  const sizes = {
    ...(parallelism === null ? {} : { parallelism }),
    ...(completions === null ? {} : { completions }),
  };
  const name = `${parallelism ?? 'any'}-${completions ?? 'any'}`;
  const plain = situation(
    `job/plain-${name}`,
    create(job('j', sizes)),
    pods('ready'),
    succeed(1),
    succeed(),
    succeed(),
  );
  if (completions === null) return [plain];
  return [
    plain,
    situation(
      `job/indexed-${name}`,
      create(job('j', { ...sizes, ...indexed })),
      pods('ready'),
      succeed(1),
      succeed(),
      succeed(),
    ),
  ];
});

const others: readonly Situation[] = [
  situation('job/backoff-none', create(job('j', { backoffLimit: 0 })), pods('ready'), fail()),
  situation(
    'job/backoff-none-parallel',
    create(job('j', { backoffLimit: 0, parallelism: 3, completions: 3 })),
    pods('ready'),
    fail(),
  ),
  situation('job/backoff-one', create(job('j', { backoffLimit: 1 })), fail(), wait(12), fail()),
  situation('job/backoff-one-then-done', create(job('j', { backoffLimit: 2 })), fail(), wait(12), succeed()),
  situation(
    'job/backoff-indexed',
    create(job('j', { backoffLimit: 1, parallelism: 2, completions: 2, ...indexed })),
    fail(),
    wait(12),
    succeed(),
  ),
  situation(
    'job/backoff-on-failure',
    create(job('j', { backoffLimit: 0 }, { restartPolicy: 'OnFailure' })),
    pods('ready'),
    patch('Job/j', { metadata: { labels: { a: 'b' } } }),
    fail(),
  ),
  situation('job/deadline', create(job('j', { activeDeadlineSeconds: 3 })), pods('ready'), wait(3)),
  situation(
    'job/deadline-parallel',
    create(job('j', { activeDeadlineSeconds: 3, parallelism: 3 })),
    succeed(1),
    wait(4),
  ),
  situation('job/deadline-later', create(job('j')), pods('ready'), wait(2), spec({ activeDeadlineSeconds: 1 })),
  situation(
    'job/suspended',
    create(job('j', { suspend: true, parallelism: 2 })),
    spec({ suspend: false }),
    pods('ready'),
    spec({ suspend: true }),
    spec({ suspend: false }),
    succeed(),
  ),
  situation(
    'job/suspended-with-deadline',
    create(job('j', { suspend: true, activeDeadlineSeconds: 90 })),
    wait(2),
    spec({ suspend: false }),
    succeed(),
  ),
  situation(
    'job/suspend-after-some',
    create(job('j', { parallelism: 2, completions: 4 })),
    succeed(),
    pods('ready'),
    spec({ suspend: true }),
    spec({ suspend: false }),
    succeed(),
  ),
  situation(
    'job/suspended-indexed',
    create(job('j', { suspend: true, completions: 2, parallelism: 2, ...indexed })),
    spec({ suspend: false }),
    succeed(1),
    spec({ suspend: true }),
  ),
  situation('job/suspend-finished', create(job('j')), succeed(), spec({ suspend: true })),
  situation('job/ttl-zero', create(job('j', { ttlSecondsAfterFinished: 0 })), succeed()),
  situation('job/ttl', create(job('j', { ttlSecondsAfterFinished: 5 })), succeed(), wait(5)),
  situation('job/ttl-failed', create(job('j', { ttlSecondsAfterFinished: 1, backoffLimit: 0 })), fail(), wait(2)),
  situation('job/ttl-later', create(job('j')), succeed(), spec({ ttlSecondsAfterFinished: 0 })),
  situation(
    'job/delete-background',
    create(job('j', { parallelism: 2 })),
    pods('ready'),
    remove('Job/j', 'Background'),
  ),
  situation(
    'job/delete-orphan',
    create(job('j', { parallelism: 2 })),
    pods('ready'),
    remove('Job/j', 'Orphan'),
    pods('succeeded'),
  ),
  situation(
    'job/delete-foreground',
    create(job('j', { parallelism: 2 })),
    pods('ready'),
    remove('Job/j', 'Foreground'),
  ),
  situation('job/pod-lost', create(job('j')), pods('ready'), pods('deleted'), succeed()),
  situation(
    'job/pod-lost-indexed',
    create(job('j', { completions: 2, parallelism: 2, ...indexed })),
    pods('ready'),
    pods('deleted', { named: 'j-1' }),
    succeed(),
  ),
  situation(
    'job/parallelism-up',
    create(job('j', { parallelism: 1, completions: 5 })),
    spec({ parallelism: 3 }),
    succeed(),
    succeed(),
  ),
  situation(
    'job/parallelism-down',
    create(job('j', { parallelism: 4, completions: 5 })),
    pods('bound'),
    spec({ parallelism: 1 }),
    succeed(),
  ),
  situation(
    'job/parallelism-none',
    create(job('j', { parallelism: 2 })),
    pods('ready'),
    spec({ parallelism: 0 }),
    spec({ parallelism: 1 }),
    succeed(),
  ),
  situation(
    'job/indexed-ranges',
    create(job('j', { completions: 6, parallelism: 6, ...indexed })),
    pods('succeeded', { named: 'j-0' }),
    pods('succeeded', { named: 'j-4' }),
    pods('succeeded', { named: 'j-1' }),
    pods('succeeded', { named: 'j-5' }),
    succeed(),
  ),
  situation(
    'job/indexed-scale-down',
    create(job('j', { completions: 4, parallelism: 4, ...indexed })),
    spec({ parallelism: 2 }),
    succeed(),
  ),
  situation(
    'job/manual-selector',
    create(pod('stray', { run: 'x' }, { restartPolicy: 'Never' })),
    create(
      job('j', {
        manualSelector: true,
        selector: { matchLabels: { run: 'x' } },
        parallelism: 2,
        completions: 2,
        template: {
          metadata: { labels: { run: 'x' } },
          spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] },
        },
      }),
    ),
    succeed(),
  ),
  situation(
    'job/template-labels',
    create(
      job('j', {
        template: {
          metadata: { labels: { a: 'b' }, annotations: { c: 'd' } },
          spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] },
        },
      }),
    ),
    succeed(),
  ),
  situation('job/pods-fail-together', create(job('j', { parallelism: 3, completions: 3, backoffLimit: 1 })), fail(3)),
  situation(
    'job/succeeds-and-fails',
    create(job('j', { parallelism: 2, completions: 2, backoffLimit: 0 })),
    succeed(1),
    fail(),
  ),
  situation('job/work-queue-fails', create(job('j', { parallelism: 2, backoffLimit: 3 })), succeed(1), fail()),
  situation(
    'job/quota',
    create({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec: { hard: { pods: '1' } } }),
    create(job('j', { parallelism: 2, completions: 2 })),
  ),
];

export const jobs: readonly Situation[] = [...modes, ...others];
