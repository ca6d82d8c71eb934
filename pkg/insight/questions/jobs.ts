/** Why Jobs do not end well and CronJobs make no Jobs. */

import { jobs } from '#api/batch/v1/resources.gen.js';
import type { CronJob, Job } from '#api/batch/v1/types.gen.js';
import { getCondition, isConditionTrue } from '#api/meta/v1/condition/conditions.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';
import { creationFailure } from '#insight/questions/creation.js';
import {
  conditionText,
  eventEvidence,
  finding,
  namespaceFlag,
  specEvidence,
  statusEvidence,
  subjectOf,
} from '#insight/questions/parts.js';
import { podGroups, podsOf } from '#insight/questions/pods-of.js';
import { question } from '#insight/questions/termination.js';

export const whyJob = question<Job>('Job', async (inquiry, job, subject) => {
  const { spec, status } = job;
  if (isConditionTrue(status?.conditions, 'Complete')) return [];
  if (spec?.suspend === true)
    return [
      finding({
        subject,
        reason: 'JobSuspended',
        summary: 'The job is suspended.',
        evidence: [specEvidence('spec.suspend', 'true')],
        remedies: [
          {
            action: 'Let it run.',
            command: `patch job ${subject.name}${namespaceFlag(subject)} -p '{"spec":{"suspend":false}}'`,
          },
        ],
      }),
    ];
  if (spec?.parallelism === 0)
    return [
      finding({
        subject,
        reason: 'NoParallelism',
        summary: 'The job runs no pods, because its parallelism is 0.',
        evidence: [specEvidence('spec.parallelism', '0')],
        remedies: [{ action: 'Raise the parallelism.' }],
      }),
    ];
  const pods = (await podsOf(inquiry, job, spec?.selector)) ?? [];
  const causes = [...(await podGroups(inquiry, subject, pods))];
  const failed = getCondition(status?.conditions, 'Failed');
  if (failed?.status === 'True') return [failedJob(job, subject, conditionText(failed), failed.reason ?? '', causes)];
  if (pods.length === 0) {
    const refused = creationFailure(subject, await inquiry.events(subject));
    if (refused !== undefined) return [refused];
  }
  return causes;
});

function failedJob({ spec }: Job, subject: Subject, text: string, reason: string, causes: readonly Finding[]): Finding {
  const isDeadline = reason === 'DeadlineExceeded';
  return finding({
    ...{ subject, causes },
    reason: reason === '' ? 'JobFailed' : reason,
    summary: isDeadline
      ? `The job ran for longer than its ${spec?.activeDeadlineSeconds ?? 0} seconds.`
      : `The job has failed: its pods failed more often than its limit of ${spec?.backoffLimit ?? 6} allows.`,
    evidence: [statusEvidence('conditions.Failed', text)],
    remedies: [
      isDeadline
        ? { action: 'Raise activeDeadlineSeconds, or find out what takes so long.' }
        : {
            action: 'Find out why its pods fail; then create the job again.',
            command: `logs job/${subject.name}${namespaceFlag(subject)}`,
          },
    ],
  });
}

export const whyCronJob = question<CronJob>('CronJob', async (inquiry, cronJob, subject) => {
  const { spec, status } = cronJob;
  if (spec?.suspend === true)
    return [
      finding({
        subject,
        reason: 'CronJobSuspended',
        summary: 'The cron job is suspended: it makes no jobs.',
        evidence: [specEvidence('spec.suspend', 'true')],
        remedies: [
          {
            action: 'Let it run.',
            command: `patch cronjob ${subject.name}${namespaceFlag(subject)} -p '{"spec":{"suspend":false}}'`,
          },
        ],
      }),
    ];
  const events = await inquiry.events(subject);
  const problem = events.find(({ reason = '' }) => cronProblems[reason] !== undefined);
  const said = problem && cronProblems[problem.reason ?? ''];
  const all: Finding[] = [];
  const active = status?.active ?? [];
  if (active.length > 0) {
    const { namespace = '' } = cronJob.metadata;
    for (const { name = '' } of active.slice(0, 3)) {
      const job = await inquiry.get(jobs, name, namespace);
      if (job.state !== 'present') continue;
      const causes = await inquiry.causes(subjectOf('Job', job.object), whyJob, job.object);
      if (causes.length === 0) continue;
      const isForbid = spec?.concurrencyPolicy === 'Forbid';
      all.push(
        finding({
          ...{ subject, causes },
          reason: isForbid ? 'WaitsForLastJob' : 'LastJobHangs',
          summary: isForbid
            ? `No further job is made while job ${name} runs, as concurrencyPolicy Forbid says, and that job has a problem.`
            : `Job ${name} of the cron job has a problem.`,
        }),
      );
    }
  }
  if (said !== undefined && problem !== undefined && all.length === 0)
    all.push(
      finding({
        subject,
        reason: problem.reason ?? '',
        summary: said.summary,
        evidence: [eventEvidence(problem)],
        remedies: [{ action: said.action }],
      }),
    );
  return all;
});

const cronProblems: Readonly<Record<string, { readonly summary: string; readonly action: string }>> = {
  InvalidSchedule: { summary: 'The schedule of the cron job is not valid.', action: 'Correct spec.schedule.' },
  UnparseableSchedule: { summary: 'The schedule of the cron job is not valid.', action: 'Correct spec.schedule.' },
  UnParseableCronJobSchedule: {
    summary: 'The schedule of the cron job is not valid.',
    action: 'Correct spec.schedule.',
  },
  UnknownTimeZone: { summary: 'The time zone of the cron job is not known.', action: 'Correct spec.timeZone.' },
  TooManyMissedTimes: {
    summary: 'More than a hundred runs were missed, so that none is made up for.',
    action: 'Set startingDeadlineSeconds, and check that the clocks of the control plane agree.',
  },
  MissSchedule: {
    summary: 'A run was missed, because it could not begin within startingDeadlineSeconds.',
    action: 'Raise startingDeadlineSeconds.',
  },
  FailedCreate: { summary: 'The job cannot be created.', action: 'Change what the message names.' },
};
