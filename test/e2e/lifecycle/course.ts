/** How pods begin and end. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Container } from '#api/core/v1/types.gen.js';
import { type Bench, create, exec, gone, scratch, scratchMount } from '#test/e2e/lifecycle/bench.js';
import { namespace, pod, shell, sleeper, statusOf, untilPod, untilPodReady } from '#test/e2e/pods.js';

export async function endings(t: Test, bench: Bench): Promise<void> {
  const { client, folder } = bench;
  const onHost = { volumes: [{ name: 'host', hostPath: { path: folder, type: 'Directory' } }] };
  const mounted: Partial<Container> = { volumeMounts: [{ name: 'host', mountPath: '/host' }] };
  const tell = (text: string) => `echo ${text} >> /host/$HOSTNAME`;
  const wait = 'while true; do sleep 0.1; done';
  await create(
    bench,
    pod(
      'polite',
      [
        shell(`trap '${tell('TERM')}; exit 0' TERM; ${wait}`, {
          ...mounted,
          lifecycle: { preStop: { exec: { command: ['sh', '-c', tell('preStop')] } } },
        }),
      ],
      { ...onHost, terminationGracePeriodSeconds: 600 },
    ),
    pod('deaf', [shell(`trap '${tell('TERM')}' TERM; ${wait}`, mounted)], onHost),
  );
  await Promise.all([untilPodReady(client, 'polite'), untilPodReady(client, 'deaf')]);
  await client.resource(pods).delete('polite', { namespace });
  await client.resource(pods).delete('deaf', { namespace });
  const leaving = await client.resource(pods).get('deaf', { namespace });
  t.ok(leaving.metadata.deletionTimestamp, 'the object stays for the grace period');
  t.equal(leaving.metadata.deletionGracePeriodSeconds, 2);
  await gone(bench, 'polite');
  t.equal(readFileSync(join(folder, 'polite'), 'utf8'), 'preStop\nTERM\n', 'the hook runs, then SIGTERM is sent');
  await gone(bench, 'deaf');
  t.equal(readFileSync(join(folder, 'deaf'), 'utf8'), 'TERM\n', 'who ignores SIGTERM is killed');
}

export async function initialisation(t: Test, bench: Bench): Promise<void> {
  const { client } = bench;
  const write = (name: string) => shell(`sleep 0.2; echo ${name} >> /scratch/order`, { name, ...scratchMount });
  await create(
    bench,
    pod('initialised', [shell(`echo main >> /scratch/order; ${sleeper}`, scratchMount)], {
      ...scratch,
      initContainers: [write('first'), write('second')],
    }),
    pod('init-fatal', [shell(sleeper)], {
      restartPolicy: 'Never',
      initContainers: [shell('exit 7', { name: 'failing' })],
    }),
  );
  const ready = await untilPodReady(client, 'initialised');
  t.equal(await exec(bench, 'initialised', 'cat /scratch/order'), 'first\nsecond\nmain', 'one after the other');
  const ended = ready.status?.initContainerStatuses?.map((status) => status.state?.terminated?.exitCode);
  t.strictSame(ended, [0, 0], 'the status tells how they ended');
  const failed = await untilPod(client, 'init-fatal', 'has failed', (pod) => pod.status?.phase === 'Failed');
  t.equal(statusOf(failed, 'failing')?.state?.terminated?.exitCode, 7);
  t.equal(statusOf(failed)?.containerID, undefined, 'the main container never ran');
  const blocked = await untilPod(
    client,
    'init-failing',
    'crashes again and again',
    (pod) => statusOf(pod, 'failing')?.state?.waiting?.reason === 'CrashLoopBackOff',
  );
  t.equal(blocked.status?.phase, 'Pending');
  t.match(statusOf(blocked)?.state?.waiting, { reason: 'PodInitializing' });
}
