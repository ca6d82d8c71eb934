/** Pods whose claims get directories of the node, on real containers. */
import { existsSync, readFileSync } from 'node:fs';
import type { Test } from 'tap';
import { persistentvolumeclaims, persistentvolumes, pods } from '#api/core/v1/resources.gen.js';
import { eventually } from '#test/e2e/harness.js';
import { type Bench, create, exec, gone } from '#test/e2e/lifecycle/bench.js';
import { namespace, pod, shell, sleeper, untilPodReady } from '#test/e2e/pods.js';

/** Any user but the superuser: every user may write to the directory. */
const user = (name: string) => ({
  ...pod(name, [shell(sleeper, { volumeMounts: [{ name: 'data', mountPath: '/data' }] })], {
    ...{ terminationGracePeriodSeconds: 1, securityContext: { runAsUser: 1234, fsGroup: 4321 } },
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
  }),
});

export async function storage(t: Test, bench: Bench): Promise<void> {
  const { client } = bench;
  await client.resource(persistentvolumeclaims).create({
    metadata: { name: 'data', namespace },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Mi' } } },
  });
  await create(bench, user('first'));
  await untilPodReady(client, 'first');
  await exec(bench, 'first', 'echo kept > /data/file');
  const { spec } = await client.resource(persistentvolumeclaims).get('data', { namespace });
  const volume = await client.resource(persistentvolumes).get(spec.volumeName ?? '');
  const path = volume.spec.local?.path ?? '';
  t.equal(readFileSync(`${path}/file`, 'utf8'), 'kept\n', path);
  await client.resource(pods).delete('first', { namespace });
  await gone(bench, 'first');
  await create(bench, user('second'));
  await untilPodReady(client, 'second');
  t.equal(await exec(bench, 'second', 'cat /data/file'), 'kept', 'the next pod of the claim finds it');
  await client.resource(persistentvolumeclaims).delete('data', { namespace });
  await client.resource(pods).delete('second', { namespace });
  await eventually('volume and directory are gone', async () => {
    const { items } = await client.resource(persistentvolumes).list();
    return items.length === 0 && !existsSync(path);
  });
}
