/** Plans a cron job's starts, status and history. Pure. */
import { ScheduleError } from '#api/batch/v1/cronjob/cron-field.js';
import { isTimeZone, parseSchedule } from '#api/batch/v1/cronjob/schedule.js';
import type { CronJob, CronJobStatus, Job } from '#api/batch/v1/types.gen.js';
import type { ObjectReference } from '#api/core/v1/types.gen.js';
import { formatTime, parseTime } from '#apimachinery/clock.js';
import { type Timetable, timetableOf } from '#controllers/cronjob/timetable.js';

/** The delay in 1.24 that prevents an early start by slightly different clocks. */
const paddingMs = 100;
/** More missed starts than this cause a warning. */
const manyMissed = 100;

export interface CronEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export interface ZoneOptions {
  /** The feature gate CronJobTimeZone. */
  readonly timeZones: boolean;
  /** The zone of schedules that do not name one. */
  readonly localZone: string;
}

export function finishedType(job: Job): 'Complete' | 'Failed' | undefined {
  const end = job.status?.conditions?.find(
    ({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True',
  );
  return end?.type as 'Complete' | 'Failed' | undefined;
}

export interface ObservedStatus {
  readonly status: CronJobStatus;
  readonly events: readonly CronEvent[];
}

/** Updates the status from the jobs. `missing`: UIDs of active jobs that no longer exist. */
export function observeJobs(cronJob: CronJob, jobs: readonly Job[], missing: ReadonlySet<string>): ObservedStatus {
  const events: CronEvent[] = [];
  let active = cronJob.status?.active ?? [];
  let { lastSuccessfulTime } = cronJob.status ?? {};
  for (const job of jobs) {
    const { name = '', uid } = job.metadata;
    const isActive = active.some((reference) => reference.uid === uid);
    const end = finishedType(job);
    if (end === undefined) {
      if (!isActive) {
        const message = `Saw a job that the controller did not create or forgot: ${name}`;
        events.push({ type: 'Warning', reason: 'UnexpectedJob', message });
      }
      continue;
    }
    if (isActive) {
      active = active.filter((reference) => reference.uid !== uid);
      events.push({ type: 'Normal', reason: 'SawCompletedJob', message: `Saw completed job: ${name}, status: ${end}` });
    }
    const { completionTime } = job.status ?? {};
    if (completionTime !== undefined && isLater(completionTime, lastSuccessfulTime))
      lastSuccessfulTime = completionTime;
  }
  for (const { name, uid } of active.filter((reference) => missing.has(reference.uid ?? ''))) {
    active = active.filter((reference) => reference.uid !== uid);
    events.push({ type: 'Normal', reason: 'MissingJob', message: `Active job went missing: ${name}` });
  }
  return { status: withTimes({ ...cronJob.status, active: [...active] }, lastSuccessfulTime), events };
}

function withTimes(status: CronJobStatus, lastSuccessfulTime: string | undefined): CronJobStatus {
  return lastSuccessfulTime === undefined ? status : { ...status, lastSuccessfulTime };
}

function isLater(time: string, than: string | undefined): boolean {
  return than === undefined || parseTime(time) > parseTime(than);
}

export interface CronPlan {
  readonly events: readonly CronEvent[];
  /** The due start (ms). */
  readonly startMs?: number;
  /** Jobs to delete first. */
  readonly replace: readonly ObjectReference[];
  readonly requeueAfterMs?: number;
}

/** `cronJob` with the status of `observeJobs`; `now` in milliseconds. */
export function planStart(cronJob: CronJob, zones: ZoneOptions, now: number): CronPlan {
  const { spec, status, metadata } = cronJob;
  if (metadata.deletionTimestamp !== undefined || spec.suspend === true) return { events: [], replace: [] };
  const { timetable, events } = readSchedule(cronJob, zones);
  if (timetable === undefined) return { events, replace: [] };
  const missed = missedStart(cronJob, timetable, now);
  if (missed === 'never') {
    const message = `invalid schedule: ${spec.schedule} : time difference between two schedules less than 1 second`;
    return { events: [...events, { type: 'Warning', reason: 'InvalidSchedule', message }], replace: [] };
  }
  const idle: CronPlan = { events, replace: [], ...dueIn(timetable, now) };
  if (missed === undefined) return idle;
  const { startMs, count } = missed;
  const also = (type: CronEvent['type'], reason: string, message: string): CronPlan => ({
    ...idle,
    events: [...idle.events, { type, reason, message }],
  });
  const many = `too many missed start times: ${count}. Set or decrease .spec.startingDeadlineSeconds or check clock skew`;
  const warned = count > manyMissed ? also('Warning', 'TooManyMissedTimes', many) : idle;
  const active = status?.active ?? [];
  const name = jobName(cronJob, startMs);
  const started = active.some((job) => job.name === name) || status?.lastScheduleTime === formatTime(startMs);
  if (started) return warned;
  if (spec.concurrencyPolicy === 'Forbid' && active.length > 0) {
    const why = 'Not starting job because prior execution is running and concurrency policy is Forbid';
    return also('Normal', 'JobAlreadyActive', why);
  }
  return { ...warned, startMs, replace: spec.concurrencyPolicy === 'Replace' ? active : [] };
}

/** The time until the next start, without missed starts. For changed schedules. */
export function nextStartInMs(cronJob: CronJob, zones: ZoneOptions, now: number): number | undefined {
  const { timetable } = readSchedule(cronJob, zones);
  return timetable === undefined ? undefined : dueIn(timetable, now).requeueAfterMs;
}

function dueIn(timetable: Timetable, now: number): { requeueAfterMs?: number } {
  const next = timetable.next(now);
  return next === undefined ? {} : { requeueAfterMs: next - now + paddingMs };
}

function readSchedule(
  { spec }: CronJob,
  { timeZones, localZone }: ZoneOptions,
): { timetable?: Timetable; events: readonly CronEvent[] } {
  const { schedule } = spec;
  const timeZone = timeZones ? spec.timeZone : undefined;
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    const message = `invalid timeZone: ${JSON.stringify(timeZone)}: unknown time zone ${timeZone}`;
    return { events: [{ type: 'Warning', reason: 'UnknownTimeZone', message }] };
  }
  const ownZone = schedule.includes('TZ');
  const text = `CRON_TZ or TZ used in schedule ${JSON.stringify(schedule)} is not officially supported`;
  const events: CronEvent[] = ownZone ? [{ type: 'Warning', reason: 'UnsupportedSchedule', message: text }] : [];
  try {
    return { timetable: timetableOf(parseSchedule(schedule), (ownZone ? undefined : timeZone) ?? localZone), events };
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    const message = `unparseable schedule: ${JSON.stringify(schedule)} : ${error.message}`;
    return { events: [{ type: 'Warning', reason: 'UnparseableSchedule', message }] };
  }
}

/** The last missed start and the number of missed starts; `never` for a schedule without starts. */
function missedStart(
  { spec, status, metadata }: CronJob,
  timetable: Timetable,
  now: number,
): { startMs: number; count: number } | 'never' | undefined {
  const since = status?.lastScheduleTime ?? metadata.creationTimestamp;
  const { startingDeadlineSeconds } = spec;
  const deadlineMs =
    startingDeadlineSeconds === undefined ? Number.NEGATIVE_INFINITY : now - Number(startingDeadlineSeconds) * 1000;
  const earliestMs = Math.max(since === undefined ? now : parseTime(since), deadlineMs);
  const first = timetable.next(earliestMs);
  if (first === undefined) return 'never';
  if (first > now) return undefined;
  let count = 1;
  let startMs = first;
  for (let next = timetable.next(startMs); next !== undefined && next <= now; next = timetable.next(startMs)) {
    startMs = next;
    count += 1;
    if (count > manyMissed) {
      const last = timetable.last({ first: startMs, untilMs: now });
      // Estimate the total from the average interval so far.
      const apart = (startMs - first) / manyMissed;
      return { startMs: last, count: count + Math.floor((last - startMs) / apart) };
    }
  }
  return { startMs, count };
}

export function jobName({ metadata }: CronJob, startMs: number): string {
  return `${metadata.name}-${Math.floor(startMs / 60_000)}`;
}

/** The oldest finished jobs beyond the history limits. */
export function outdatedJobs({ spec }: CronJob, jobs: readonly Job[]): Job[] {
  const beyond = (type: string, limit: number | undefined) => {
    if (limit === undefined) return [];
    const finished = jobs.filter((job) => finishedType(job) === type).sort(byStart);
    return finished.slice(0, Math.max(0, finished.length - limit));
  };
  return [...beyond('Complete', spec.successfulJobsHistoryLimit), ...beyond('Failed', spec.failedJobsHistoryLimit)];
}

/** Jobs that never started come last. */
function byStart(a: Job, b: Job): number {
  const start = ({ status }: Job) =>
    status?.startTime === undefined ? Number.POSITIVE_INFINITY : parseTime(status.startTime);
  const [first, second] = [start(a), start(b)];
  if (first !== second) return first < second ? -1 : 1;
  return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1;
}
