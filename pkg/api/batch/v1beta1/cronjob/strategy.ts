import { cronJobStrategy } from '#api/batch/v1/cronjob/strategy.js';
import { cronjobs } from '#api/batch/v1beta1/resources.gen.js';
import type { CronJob } from '#api/batch/v1beta1/types.gen.js';
import { renamed } from '#api/strategy/conversion.js';
import { convertedStrategy } from '#api/strategy/converted-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { quoted } from '#apimachinery/errors/message-values.js';

const { defaults } = cronJobStrategy;

export const cronJobV1beta1Strategy: Strategy<CronJob> = convertedStrategy<CronJob, CronJob>(cronjobs, {
  // Clients of this version expect jobs to outlive their cron job.
  stored: { ...cronJobStrategy, defaultPropagation: 'Orphan' },
  conversion: renamed({ group: 'batch', version: 'v1beta1' }, { group: 'batch', version: 'v1' }),
  fieldLabels: {},
  fieldRefusal: (field) => `field label ${quoted(field)} not supported for "CronJob"`,
  ...(defaults && { defaults }),
});
