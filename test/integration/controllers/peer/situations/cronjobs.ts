/** Cron jobs: missed starts, concurrency policies and history. `lastScheduleTime` in the past makes starts due. */
import {
  create,
  manifest,
  patch,
  pods,
  remove,
  situation,
  wait,
} from '#test/integration/controllers/peer/manifests.js';
import type { JsonObject, Manifest, Situation, Step } from '#test/integration/controllers/peer/situation.js';

const jobTemplate = {
  metadata: { labels: { a: 'b' }, annotations: { c: 'd' } },
  spec: {
    template: {
      spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image: 'i' }] },
    },
  },
};
const cron = (spec: JsonObject = {}): Manifest =>
  manifest('batch/v1', 'CronJob', 'nightly', { spec: { schedule: '30 4 * * *', suspend: true, jobTemplate, ...spec } });
const ran = (ago: string): Step =>
  patch('CronJob/nightly', { status: { lastScheduleTime: `$now-${ago}` } }, { subresource: 'status' });
const go: Step = patch('CronJob/nightly', { spec: { suspend: false } });
const spec = (body: JsonObject): Step => patch('CronJob/nightly', { spec: body });

const policies = ['Allow', 'Forbid', 'Replace'] as const;
/** A missed start, and another a day later. */
const twice = [ran('26h'), go, pods('ready'), ran('50h')];

export const cronJobs: readonly Situation[] = [
  situation('cronjob/not-yet', create(cron({ suspend: false, schedule: '0 0 1 1 *' }))),
  situation('cronjob/suspended', create(cron()), ran('26h')),
  situation('cronjob/missed', create(cron()), ran('26h'), go),
  situation('cronjob/missed-several', create(cron()), ran('200h'), go),
  situation(
    'cronjob/missed-too-many',
    create(cron({ schedule: '* * * * *', startingDeadlineSeconds: 60_000 })),
    ran('26h'),
    spec({ schedule: '0 0 29 2 *' }),
  ),
  situation(
    'cronjob/deadline-passed',
    create(cron({ startingDeadlineSeconds: 1, schedule: '0 0 1 1 *' })),
    ran('20000h'),
    go,
  ),
  situation('cronjob/no-such-day', create(cron({ suspend: false, schedule: '0 0 31 2 *' }))),
  situation('cronjob/zone-in-schedule', create(cron({ schedule: 'TZ=Asia/Tokyo 0 5 * * *' })), ran('26h'), go),
  ...policies.flatMap((concurrencyPolicy) => [
    situation(
      `cronjob/runs-${concurrencyPolicy.toLowerCase()}`,
      create(cron({ concurrencyPolicy })),
      ran('26h'),
      go,
      pods('succeeded'),
    ),
    situation(`cronjob/twice-${concurrencyPolicy.toLowerCase()}`, create(cron({ concurrencyPolicy })), ...twice),
  ]),
  situation('cronjob/history-none', create(cron({ successfulJobsHistoryLimit: 0 })), ran('26h'), go, pods('succeeded')),
  situation(
    'cronjob/history-failed-none',
    create(cron({ failedJobsHistoryLimit: 0, jobTemplate: { spec: { ...jobTemplate.spec, backoffLimit: 0 } } })),
    ran('26h'),
    go,
    pods('failed'),
  ),
  situation(
    'cronjob/job-fails',
    create(cron({ jobTemplate: { spec: { ...jobTemplate.spec, backoffLimit: 0 } } })),
    ran('26h'),
    go,
    pods('failed'),
  ),
  situation(
    'cronjob/suspended-while-running',
    create(cron()),
    ran('26h'),
    go,
    pods('ready'),
    spec({ suspend: true }),
    pods('succeeded'),
  ),
  ...(['Background', 'Foreground', 'Orphan'] as const).map((policy) =>
    situation(
      `cronjob/delete-${policy.toLowerCase()}`,
      create(cron()),
      ran('26h'),
      go,
      pods('ready'),
      remove('CronJob/nightly', policy),
    ),
  ),
  situation('cronjob/every', create(cron({ schedule: '@every 1000h' })), ran('1001h'), go, wait(1)),
];
