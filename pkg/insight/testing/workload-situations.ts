/** Workloads without their pods, and why. */
import type { DaemonSet, StatefulSet } from '#api/apps/v1/types.gen.js';
import type { CronJob, Job } from '#api/batch/v1/types.gen.js';
import type { PodDisruptionBudget } from '#api/policy/v1/types.gen.js';
import {
  ago,
  crashed,
  deployment,
  event,
  lease,
  node,
  pod,
  replicaSetOf,
  waiting,
  workload,
} from '#insight/testing/objects.js';
import type { Situation } from '#insight/testing/situation.js';

const good = node();
const partly = { replicas: 2, updatedReplicas: 2, availableReplicas: 0 };
const web = deployment({ status: partly });
const set = replicaSetOf(web, { status: { replicas: 2 } });
const pull = (name: string) => pod({ name, owner: set, app: waiting('ErrImagePull', 'shop/web:1: not found') });
const refused = (message: string) =>
  deployment({
    status: {
      ...partly,
      replicas: 0,
      conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message }],
    },
  });

const refusal = (name: string, message: string, root: string, says: string): Situation => ({
  name,
  about: refused(message),
  objects: [good],
  root,
  says,
  quotes: message,
});

const sts = (parts: object = {}) => workload<StatefulSet>('StatefulSet', 'apps/v1', parts);
const db = sts({ replicas: 3, status: { replicas: 1, readyReplicas: 0 } });
const ds = (parts: object = {}) => workload<DaemonSet>('DaemonSet', 'apps/v1', parts);
const agent = ds({ status: { desiredNumberScheduled: 2, numberAvailable: 1, updatedNumberScheduled: 2 } });
const job = (parts: object = {}) =>
  workload<Job>('Job', 'batch/v1', { ...parts, spec: { backoffLimit: 2, ...(parts as { spec?: object }).spec } });
const failedJob = job({
  status: {
    conditions: [
      {
        type: 'Failed',
        status: 'True',
        reason: 'BackoffLimitExceeded',
        message: 'Job has reached the specified backoff limit',
      },
    ],
  },
});
const cron = (parts: object = {}) => workload<CronJob>('CronJob', 'batch/v1', parts);
const badCron = cron();
const runningJob = workload<Job>('Job', 'batch/v1', { metadata: { name: 'web-1', uid: 'uid-web-1' } });
const budget = (spec: object, status: object) =>
  workload<PodDisruptionBudget>('PodDisruptionBudget', 'policy/v1', { spec, status });

export const workloadSituations: readonly Situation[] = [
  {
    name: 'a rollout of an image that does not exist',
    about: web,
    objects: [set, pull('web-0'), pull('web-1'), good],
    root: 'ImageMissing',
    says: 'does not exist in its registry',
  },
  {
    name: 'a rollout beyond its deadline',
    about: deployment({
      status: {
        ...partly,
        conditions: [
          {
            type: 'Progressing',
            status: 'False',
            reason: 'ProgressDeadlineExceeded',
            message: 'ReplicaSet "web-5d5" has timed out progressing.',
          },
        ],
      },
    }),
    objects: [set, pod({ name: 'web-0', owner: set, app: crashed(1), phase: 'Running' }), good],
    root: 'Crashes',
    says: 'exit code 1',
    quotes: 'timed out progressing',
  },
  {
    name: 'a deployment that is paused in its rollout',
    about: deployment({ spec: { paused: true }, status: { replicas: 3, updatedReplicas: 1, availableReplicas: 2 } }),
    objects: [good],
    root: 'RolloutPaused',
    says: 'paused',
  },
  refusal(
    'a quota',
    'pods "web-0" is forbidden: exceeded quota: small, requested: pods=1, used: pods=4, limited: pods=4',
    'QuotaExceeded',
    'ResourceQuota',
  ),
  refusal(
    'a quota that demands requests',
    'pods "web-0" is forbidden: failed quota: small: must specify limits.cpu',
    'QuotaNeedsRequests',
    'demands requests',
  ),
  refusal(
    'a level of pod security',
    'pods "web-0" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false',
    'PodSecurityViolated',
    'Pod Security',
  ),
  refusal(
    'a service account that does not exist',
    'pods "web-0" is forbidden: error looking up service account shop/web: serviceaccount "web" not found',
    'ServiceAccountMissing',
    'service account',
  ),
  refusal(
    'a limit range',
    'pods "web-0" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi',
    'LimitRangeViolated',
    'LimitRange',
  ),
  refusal(
    'a webhook that refuses',
    'admission webhook "policy.example.com" denied the request: no latest tags',
    'WebhookDenied',
    'refuses the pods',
  ),
  refusal(
    'a webhook that does not answer',
    'Internal error occurred: failed calling webhook "policy.example.com": connect: connection refused',
    'WebhookFails',
    'does not answer',
  ),
  refusal(
    'a priority class that does not exist',
    'pods "web-0" is forbidden: no PriorityClass with name high was found',
    'PriorityClassMissing',
    'PriorityClass',
  ),
  {
    name: 'a deployment that no controller acts on',
    about: deployment({ metadata: { generation: 3 }, status: partly }),
    objects: [lease('kube-system', 'kube-controller-manager', 300)],
    root: 'NoLeader',
    says: 'has not renewed its lease for 300 seconds',
  },
  {
    name: 'pods of a deployment that fit nowhere',
    about: web,
    objects: [
      set,
      pod({
        name: 'web-0',
        owner: set,
        node: '',
        status: {
          conditions: [
            { type: 'PodScheduled', status: 'False', message: '0/1 nodes are available: 1 Insufficient memory.' },
          ],
        },
      }),
      good,
    ],
    root: 'FitsNowhere',
    says: 'No node can take',
    quotes: 'Insufficient memory',
  },
  {
    name: 'a ReplicaSet whose pods are refused',
    about: workload('ReplicaSet', 'apps/v1', {
      status: {
        replicas: 0,
        conditions: [{ type: 'ReplicaFailure', status: 'True', message: 'exceeded quota: small' }],
      },
    }),
    objects: [],
    root: 'QuotaExceeded',
    says: 'ResourceQuota',
  },
  {
    name: 'a stateful set whose first pod crashes',
    about: db,
    objects: [pod({ name: 'web-0', owner: db, app: crashed(1), phase: 'Running' }), good],
    root: 'Crashes',
    says: 'exit code 1',
  },
  {
    name: 'a stateful set whose pod waits for a claim',
    about: db,
    objects: [
      pod({
        name: 'web-0',
        owner: db,
        node: '',
        spec: { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data-web-0' } }] },
        status: { conditions: [{ type: 'PodScheduled', status: 'False', message: 'unbound' }] },
      }),
    ],
    root: 'ClaimMissing',
    says: 'data-web-0',
  },
  {
    name: 'a stateful set that is updated on deletion',
    about: sts({
      spec: { updateStrategy: { type: 'OnDelete' } },
      status: { replicas: 2, readyReplicas: 2, currentRevision: 'web-1', updateRevision: 'web-2', updatedReplicas: 0 },
    }),
    objects: [],
    root: 'UpdateOnDelete',
    says: 'only when they are deleted',
  },
  {
    name: 'a stateful set with a partition',
    about: sts({
      spec: { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } } },
      status: { replicas: 2, readyReplicas: 2, currentRevision: 'web-1', updateRevision: 'web-2', updatedReplicas: 1 },
    }),
    objects: [],
    root: 'UpdatePartitioned',
    says: 'below 1',
  },
  {
    name: 'a stateful set whose pod cannot be created',
    about: sts({ replicas: 1, status: { replicas: 0, readyReplicas: 0 } }),
    objects: [],
    events: [event(sts(), 'FailedCreate', 'create Pod web-0 in StatefulSet web failed error: exceeded quota: small')],
    root: 'QuotaExceeded',
    says: 'ResourceQuota',
  },
  {
    name: 'a daemon set with one pod that fails',
    about: agent,
    objects: [
      pod({ name: 'web-0', owner: agent, isReady: true }),
      pod({ name: 'web-1', owner: agent, app: waiting('ErrImagePull', 'not found') }),
      good,
    ],
    root: 'ImageMissing',
    says: 'does not exist in its registry',
  },
  {
    name: 'a daemon set that fits no node',
    about: ds({ status: { desiredNumberScheduled: 0 } }),
    objects: [good],
    root: 'NoNodeMatches',
    says: 'No node takes pods',
  },
  {
    name: 'a daemon set that is updated on deletion',
    about: ds({
      spec: { updateStrategy: { type: 'OnDelete' } },
      status: { desiredNumberScheduled: 2, numberAvailable: 2, updatedNumberScheduled: 0 },
    }),
    objects: [],
    root: 'UpdateOnDelete',
    says: 'only when they are deleted',
  },
  {
    name: 'a job that failed too often',
    about: failedJob,
    objects: [
      pod({
        name: 'web-x',
        owner: failedJob,
        phase: 'Failed',
        app: { state: { terminated: { exitCode: 1, reason: 'Error' } } },
      }),
      good,
    ],
    logs: { 'web-x/app': ['no such table'] },
    root: 'Crashes',
    says: 'exit code 1',
    quotes: 'no such table',
  },
  {
    name: 'a job beyond its deadline',
    about: job({
      spec: { activeDeadlineSeconds: 60 },
      status: { conditions: [{ type: 'Failed', status: 'True', reason: 'DeadlineExceeded' }] },
    }),
    objects: [],
    root: 'DeadlineExceeded',
    says: '60 seconds',
  },
  {
    name: 'a suspended job',
    about: job({ spec: { suspend: true } }),
    objects: [],
    root: 'JobSuspended',
    says: 'suspended',
  },
  {
    name: 'a job without parallelism',
    about: job({ spec: { parallelism: 0 } }),
    objects: [],
    root: 'NoParallelism',
    says: 'parallelism is 0',
  },
  {
    name: 'a job whose pod is refused',
    about: job(),
    objects: [],
    events: [event(job(), 'FailedCreate', 'Error creating: pods "web-x" is forbidden: exceeded quota: small')],
    root: 'QuotaExceeded',
    says: 'ResourceQuota',
  },
  {
    name: 'a suspended cron job',
    about: cron({ spec: { suspend: true } }),
    objects: [],
    root: 'CronJobSuspended',
    says: 'suspended',
  },
  {
    name: 'a cron job with a schedule that is not valid',
    about: badCron,
    objects: [],
    events: [event(badCron, 'UnparseableSchedule', 'unparseable schedule: "61 * * * *"')],
    root: 'UnparseableSchedule',
    says: 'schedule',
    quotes: '61 * * * *',
  },
  {
    name: 'a cron job that missed too many runs',
    about: badCron,
    objects: [],
    events: [event(badCron, 'TooManyMissedTimes', 'too many missed start times: 105')],
    root: 'TooManyMissedTimes',
    says: 'hundred runs',
  },
  {
    name: 'a cron job that waits for its last job',
    about: cron({
      spec: { concurrencyPolicy: 'Forbid' },
      status: { active: [{ kind: 'Job', name: 'web-1', namespace: 'shop' }] },
    }),
    objects: [runningJob, pod({ name: 'web-1-x', owner: runningJob, app: waiting('ErrImagePull', 'not found') }), good],
    root: 'ImageMissing',
    says: 'does not exist in its registry',
  },
  {
    name: 'a budget that never allows an eviction',
    about: budget(
      { minAvailable: 2 },
      { disruptionsAllowed: 0, currentHealthy: 2, desiredHealthy: 2, expectedPods: 2 },
    ),
    objects: [],
    root: 'BudgetAllowsNone',
    says: 'never allows',
  },
  {
    name: 'a budget with a pod that is down',
    about: budget(
      { minAvailable: 1 },
      { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 2 },
    ),
    objects: [pod({ name: 'web-0', isReady: true }), pod({ name: 'web-1', app: crashed(1), phase: 'Running' }), good],
    root: 'Crashes',
    says: 'exit code 1',
  },
  {
    name: 'a budget that cannot be computed',
    about: budget(
      { minAvailable: '50%' },
      {
        disruptionsAllowed: 0,
        conditions: [
          {
            type: 'DisruptionAllowed',
            status: 'False',
            reason: 'SyncFailed',
            message: 'jobs.batch does not implement the scale subresource',
            lastTransitionTime: ago(60),
          },
        ],
      },
    ),
    objects: [],
    root: 'BudgetFails',
    says: 'cannot be computed',
  },
];
