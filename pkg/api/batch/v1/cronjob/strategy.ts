import { ScheduleError } from '#api/batch/v1/cronjob/cron-field.js';
import { isTimeZone, parseSchedule } from '#api/batch/v1/cronjob/schedule.js';
import { declaration as schema } from '#api/batch/v1/cronjob.js';
import { validateJobSpec } from '#api/batch/v1/job/validation.js';
import { cronjobs } from '#api/batch/v1/resources.gen.js';
import type { CronJob, CronJobSpec } from '#api/batch/v1/types.gen.js';
import { podOptions } from '#api/core/v1/pod/validation/options.js';
import { podTemplateWarnings } from '#api/core/v1/pod/warnings.js';
import { containerCells } from '#api/core/v1/podtemplate/container-cells.js';
import { defaultPodTemplate } from '#api/core/v1/podtemplate/template.js';
import { metaValues } from '#api/go/go-values.js';
import type { TableRowCells } from '#api/meta/object.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import { formatLabelSelector, none } from '#api/table/text.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkEnum } from '#apimachinery/validation/checks.js';
import { addAll, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';

const checkRanges = rangesOf(
  schema.types.CronJobSpec,
  ...['startingDeadlineSeconds', 'successfulJobsHistoryLimit', 'failedJobsHistoryLimit'],
);
const specPath = FieldPath.of('spec');
/** The length of a label, 63, minus the eleven characters that a job's name adds. */
const maxNameLength = 52;

export const cronJobStrategy: Strategy<CronJob> = kindStrategy<CronJob>(cronjobs, {
  anyGenerateNameOnUpdate: true,
  generationFields: ['spec'],
  defaults(cronJob, context) {
    const { spec } = cronJob;
    defaultPodTemplate(spec.jobTemplate?.spec?.template, context.dialect);
  },
  validate: (cronJob, context, old) => [
    ...validateSpec(cronJob.spec, context, old?.spec),
    ...(old === undefined ? validateNameLength(cronJob.metadata.name ?? '') : []),
  ],
  warnings: (cronJob, old, context) => [
    ...scheduleWarnings(cronJob.spec.schedule ?? '', old?.spec.schedule),
    ...podTemplateWarnings(
      cronJob.spec.jobTemplate?.spec?.template,
      old?.spec.jobTemplate?.spec?.template,
      context.dialect,
      FieldPath.of('spec', 'jobTemplate', 'spec', 'template'),
    ),
  ],
  cells: (cronJob, context) => cronJobCells(cronJob, context.now),
});

/** A time zone in the schedule works but is not officially supported. */
function scheduleWarnings(schedule: string, old: string | undefined): string[] {
  if (!schedule.includes('TZ') || schedule === old) return [];
  return [`CRON_TZ or TZ used in ${specPath.child('schedule')} is not officially supported`];
}

function validateNameLength(name: string): FieldFailure[] {
  if (name.length <= maxNameLength) return [];
  return [invalidValue(FieldPath.of('metadata', 'name'), name, `must be no more than ${maxNameLength} characters`)];
}

function validateSpec(spec: CronJobSpec, context: StrategyContext, old: CronJobSpec | undefined): FieldFailure[] {
  const schedule = spec.schedule ?? '';
  const failures: FieldFailure[] = [];
  if (schedule === '') failures.push(required(specPath.child('schedule')));
  else addAll(failures, validateSchedule(schedule, spec.timeZone));
  // A stored time zone may have been renamed since.
  if (old === undefined || old.timeZone !== spec.timeZone) addAll(failures, validateTimeZone(spec.timeZone));
  failures.push(
    ...checkRanges(spec, specPath),
    ...checkEnum(specPath.child('concurrencyPolicy'), spec.concurrencyPolicy, schema.enums.ConcurrencyPolicy),
  );
  const at = specPath.child('jobTemplate', 'spec');
  const jobSpec = spec.jobTemplate?.spec ?? { template: {} };
  const options = podOptions(jobSpec.template, old?.jobTemplate?.spec?.template, context);
  addAll(failures, validateJobSpec(jobSpec, context.scheme, at, options));
  if (jobSpec.selector !== undefined) {
    failures.push(
      invalidValue(
        at.child('selector'),
        metaValues.of('LabelSelector', jobSpec.selector),
        '`selector` will be auto-generated',
      ),
    );
  }
  if (jobSpec.manualSelector === true) {
    failures.push(notSupported(at.child('manualSelector'), true, ['nil', 'false']));
  }
  return failures;
}

function validateTimeZone(timeZone: string | undefined): FieldFailure[] {
  if (timeZone === undefined) return [];
  const path = specPath.child('timeZone');
  if (timeZone === '') return [invalidValue(path, timeZone, 'timeZone must be nil or non-empty string')];
  if (timeZone.toLowerCase() === 'local') {
    const text = 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones';
    return [invalidValue(path, timeZone, text)];
  }
  return isTimeZone(timeZone) ? [] : [invalidValue(path, timeZone, `unknown time zone ${timeZone}`)];
}

function validateSchedule(schedule: string, timeZone: string | undefined): FieldFailure[] {
  const path = specPath.child('schedule');
  const failures: FieldFailure[] = [];
  try {
    parseSchedule(schedule);
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    failures.push(invalidValue(path, schedule, error.message));
  }
  if (timeZone !== undefined && schedule.includes('TZ')) {
    const text = 'cannot use both timeZone field and TZ or CRON_TZ in schedule';
    failures.push(invalidValue(path, schedule, text));
  }
  return failures;
}

function cronJobCells(cronJob: CronJob, now: number): TableRowCells {
  const { metadata, spec, status } = cronJob;
  const jobSpec = spec.jobTemplate?.spec;
  return [
    metadata.name ?? '',
    spec.schedule,
    spec.suspend === undefined ? '<unset>' : spec.suspend ? 'True' : 'False',
    status?.active?.length ?? 0,
    status?.lastScheduleTime === undefined ? none : age(status.lastScheduleTime, now),
    age(metadata.creationTimestamp, now),
    ...containerCells(jobSpec?.template?.spec?.containers),
    formatLabelSelector(jobSpec?.selector),
  ];
}
