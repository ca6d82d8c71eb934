/** What happens to pods that fail. */
import type { Test } from 'tap';
import { events } from '#api/core/v1/resources.gen.js';
import type { Pod, Probe } from '#api/core/v1/types.gen.js';
import { type Bench, scratch, scratchMount } from '#test/e2e/lifecycle/bench.js';
import { missingImage, namespace, pod, shell, sleeper, statusOf, untilPod } from '#test/e2e/pods.js';

/** The first run is broken, the second one is well. */
const secondTime = (well: string, broken: string) =>
  `if [ -e /scratch/again ]; then ${well}; else touch /scratch/again; ${broken}; fi`;

/** Slow pods, to be created first and checked last. */
export function slowPods(): Pod[] {
  const probed = (name: string, well: string, probe: Probe) =>
    pod(
      name,
      [
        shell(secondTime(well, sleeper), {
          ...scratchMount,
          livenessProbe: { ...probe, periodSeconds: 1, failureThreshold: 2, initialDelaySeconds: 1 },
        }),
      ],
      scratch,
    );
  return [
    pod('crashing', [shell('echo failing; exit 3')]),
    pod('imageless', [shell(sleeper, { image: missingImage })]),
    pod('init-failing', [shell(sleeper)], { initContainers: [shell('exit 4', { name: 'failing' })] }),
    pod('succeeding', [shell('exit 0')], { restartPolicy: 'Never' }),
    pod('failing', [shell('exit 5')], { restartPolicy: 'Never' }),
    pod('recovering', [shell(secondTime('exit 0', 'exit 6'), scratchMount)], {
      ...scratch,
      restartPolicy: 'OnFailure',
    }),
    pod('repeating', [shell('exit 0')]),
    pod('expiring', [shell(sleeper)], { activeDeadlineSeconds: 3 }),
    probed('alive-exec', `touch /tmp/alive; ${sleeper}`, { exec: { command: ['test', '-e', '/tmp/alive'] } }),
    probed('alive-http', 'httpd -f -p 80 -h /etc', { httpGet: { path: '/passwd', port: 80 } }),
    probed('alive-tcp', 'httpd -f -p 80 -h /etc', { tcpSocket: { port: 80 } }),
  ];
}

export async function restarts(t: Test, { client }: Bench): Promise<void> {
  const phase = (name: string, expected: string) =>
    untilPod(client, name, `is ${expected}`, (pod) => pod.status?.phase === expected);
  const succeeded = await phase('succeeding', 'Succeeded');
  t.match(statusOf(succeeded), { restartCount: 0, state: { terminated: { exitCode: 0, reason: 'Completed' } } });
  const failed = await phase('failing', 'Failed');
  t.match(statusOf(failed), { restartCount: 0, state: { terminated: { exitCode: 5, reason: 'Error' } } });
  const recovered = await phase('recovering', 'Succeeded');
  t.match(statusOf(recovered), { restartCount: 1, lastState: { terminated: { exitCode: 6 } } });
  const repeated = await untilPod(client, 'repeating', 'has run again', (p) => (statusOf(p)?.restartCount ?? 0) > 0);
  t.match(statusOf(repeated), { lastState: { terminated: { exitCode: 0, reason: 'Completed' } } });
  const expired = await phase('expiring', 'Failed');
  t.equal(expired.status?.reason, 'DeadlineExceeded');
}

export async function liveness(t: Test, { client }: Bench): Promise<void> {
  for (const name of ['alive-exec', 'alive-http', 'alive-tcp']) {
    const isWell = (pod: Pod) => statusOf(pod)?.restartCount === 1 && statusOf(pod)?.state?.running !== undefined;
    await untilPod(client, name, 'was restarted', isWell);
    const eventList = (await client.resource(events).list({ namespace, fieldSelector: `involvedObject.name=${name}` }))
      .items;
    t.match(
      eventList.find(({ reason }) => reason === 'Killing')?.message,
      /failed liveness probe, will be restarted/,
      `${name}: an event says why`,
    );
    t.ok(
      eventList.some(({ reason }) => reason === 'Unhealthy'),
      'and one what was seen',
    );
  }
}

export async function crashes(t: Test, { client }: Bench): Promise<void> {
  const pod = await untilPod(
    client,
    'crashing',
    'is in CrashLoopBackOff after two restarts',
    (one) => statusOf(one)?.state?.waiting?.reason === 'CrashLoopBackOff' && (statusOf(one)?.restartCount ?? 0) >= 2,
  );
  // 10 s after the first start, twice as long after each restart; a slow machine may have come further than two.
  const waits = ['10s', '20s', '40s', '1m20s', '2m40s', '5m0s'];
  const wait = waits[(statusOf(pod)?.restartCount ?? 0) - 1];
  const message = statusOf(pod)?.state?.waiting?.message ?? '';
  t.ok(message.startsWith(`back-off ${wait} restarting failed container=main pod=crashing_`), message);
  t.match(statusOf(pod)?.lastState?.terminated, { exitCode: 3, reason: 'Error' });
  t.equal(pod.status?.phase, 'Running');
}

export async function images(t: Test, { client, history }: Bench): Promise<void> {
  const waiting = (pod: Pod) => statusOf(pod)?.state?.waiting?.reason === 'ImagePullBackOff';
  const pod = await untilPod(client, 'imageless', 'waits for its image', waiting);
  t.equal(pod.status?.phase, 'Pending');
  t.equal(statusOf(pod)?.state?.waiting?.message, `Back-off pulling image "${missingImage}"`);
  t.match(history.reasons('imageless'), /ErrImagePull,ImagePullBackOff/, 'the error is shown before the wait');
}
