/** Faults of user workloads, in real containers. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jobs } from '#api/batch/v1/resources.gen.js';
import { persistentvolumeclaims, persistentvolumes, pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { dialectByName } from '#apimachinery/dialect.js';
import { namesOf } from '#observe/names.js';
import type { Answers } from '#test/e2e/alerts/answers.js';
import type { Cause, Observed } from '#test/e2e/alerts/cause.js';
import { eventually } from '#test/e2e/harness.js';
import { nodeNames } from '#test/e2e/observe.js';
import { missingImage, namespace, pod, shell, sleeper, untilPodReady } from '#test/e2e/pods.js';

const dialect = dialectByName('orch');

/** The pods cause the alerts, which end when the pods are deleted. */
function withPods(observed: Observed, alerts: readonly string[], ...newPods: readonly Pod[]): Cause {
  const of = observed.client.resource(pods);
  return {
    alerts,
    async begin() {
      for (const each of newPods) await of.create(each, { namespace });
      return async () => {
        for (const { metadata } of newPods) await of.delete(metadata.name ?? '', { namespace, gracePeriodSeconds: 0 });
      };
    },
  };
}

export function crashes(observed: Observed): Cause {
  return withPods(observed, ['OrchPodCrashLooping'], pod('crashing', [shell('exit 1')]));
}

export function fitsNowhere(observed: Observed): Cause {
  const container = shell(sleeper, { resources: { requests: { cpu: '1000' } } });
  return withPods(observed, ['OrchPodsUnschedulable'], pod('too-large', [container]));
}

export function imageIsNotThere(observed: Observed): Cause {
  const container = { name: 'main', image: missingImage };
  return withPods(observed, ['OrchPodNotReady', 'OrchContainerWaiting'], pod('without-image', [container]));
}

/** Calls of the agent to the runtime fail repeatedly. */
export function runtimeFails(observed: Observed): Cause {
  const container = shell(sleeper, {
    readinessProbe: { exec: { command: ['/not/there'] }, periodSeconds: 1, failureThreshold: 1 },
  });
  return withPods(observed, ['NodeAgentRuntimeErrors'], pod('probed', [container]));
}

export function usesTooMuch(observed: Observed): Cause {
  return withPods(
    observed,
    ['CPUThrottlingHigh', 'OrchContainerOOMKilled'],
    pod('greedy', [
      shell('while :; do :; done', { name: 'busy', resources: { limits: { cpu: '20m' } } }),
      shell('sleep 2; exec tail /dev/zero', { name: 'large', resources: { limits: { memory: '16Mi' } } }),
    ]),
  );
}

/** Writes more than the limit of a volume. */
export function writesTooMuch(observed: Observed): Cause {
  const container = shell(`dd if=/dev/zero of=/data/f bs=1M count=3; ${sleeper}`, {
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
  });
  const volumes = [{ name: 'data', emptyDir: { sizeLimit: '1Mi' } }];
  return withPods(observed, ['NodeAgentEvictingPods'], pod('writing', [container], { volumes }));
}

export function jobFails({ client }: Observed): Cause {
  return {
    alerts: ['OrchJobFailed'],
    async begin() {
      const name = 'failing';
      const template = { spec: { restartPolicy: 'Never', containers: [shell('exit 1')] } };
      await client.resource(jobs).create({ metadata: { name, namespace }, spec: { backoffLimit: 0, template } });
      return () => client.resource(jobs).delete(name, { namespace, propagationPolicy: 'Background' });
    },
  };
}

/** Fills a disk of ten megabytes, the volume of a pod. */
export function volumeFills({ client, cluster }: Observed, disk: string, answers: Answers): Cause {
  return {
    alerts: ['OrchPersistentVolumeFillingUp/critical', 'OrchPersistentVolumeFillingUp/warning'],
    async begin() {
      const name = 'small';
      const size = { storage: '10Mi' };
      const accessModes = ['ReadWriteOnce'];
      const [node = ''] = nodeNames(cluster.dataDir);
      const matchExpressions = [{ key: dialect.labels.hostname, operator: 'In', values: [node] }];
      await client.resource(persistentvolumes).create({
        metadata: { name },
        spec: {
          capacity: size,
          accessModes,
          storageClassName: 'by-hand',
          local: { path: disk },
          nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } },
        },
      });
      await client.resource(persistentvolumeclaims).create({
        metadata: { name, namespace },
        spec: { accessModes, storageClassName: 'by-hand', resources: { requests: size }, volumeName: name },
      });
      const container = shell(sleeper, { volumeMounts: [{ name: 'data', mountPath: '/data' }] });
      const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: name } }];
      await client.resource(pods).create(pod('filling', [container], { volumes }), { namespace });
      await untilPodReady(client, 'filling');
      // The alert needs a series that shows free space first.
      const room = `${namesOf(dialect).agent}_volume_stats_available_bytes{persistentvolumeclaim="${name}"}`;
      await eventually('the empty volume is seen', async () => (await answers.query(room)).length > 0);
      const file = join(disk, 'all');
      writeFileSync(file, Buffer.alloc(10 * 1024 * 1024 - 64 * 1024));
      return async () => writeFileSync(file, '');
    },
  };
}
