import { cronJobStrategy } from '#api/batch/v1/cronjob/strategy.js';
import { cronjobs } from '#api/batch/v1beta1/resources.gen.js';
import type { CronJob } from '#api/batch/v1beta1/types.gen.js';
import { renamedStrategy } from '#api/strategy/converted-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';

export const cronJobV1beta1Strategy: Strategy<CronJob> = renamedStrategy(cronjobs, cronJobStrategy);
