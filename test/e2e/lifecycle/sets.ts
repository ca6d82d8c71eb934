/** Pods of stateful sets and daemon sets, on real containers. */
import type { Test } from 'tap';
import { daemonsets, statefulsets } from '#api/apps/v1/resources.gen.js';
import { pods, services } from '#api/core/v1/resources.gen.js';
import { eventually } from '#test/e2e/harness.js';
import { type Bench, exec } from '#test/e2e/lifecycle/bench.js';
import { namespace, shell, sleeper, untilPodReady } from '#test/e2e/pods.js';

const template = (app: string, script = sleeper) => ({
  selector: { matchLabels: { app } },
  template: {
    metadata: { labels: { app } },
    spec: { terminationGracePeriodSeconds: 1, containers: [shell(script)] },
  },
});

export async function sets(t: Test, bench: Bench): Promise<void> {
  const { client } = bench;
  await client.resource(services).create({
    metadata: { name: 'db', namespace },
    spec: { clusterIP: 'None', selector: { app: 'db' }, ports: [{ port: 80 }] },
  });
  await client.resource(statefulsets).create({
    metadata: { name: 'db', namespace },
    spec: { serviceName: 'db', replicas: 2, ...template('db') },
  });
  await client.resource(daemonsets).create({ metadata: { name: 'agent', namespace }, spec: template('agent') });
  const rolledOut = async () => {
    await eventually('the stateful set is rolled out', async () => {
      const { metadata, status } = await client.resource(statefulsets).get('db', { namespace });
      const isSeen = status?.observedGeneration === metadata.generation;
      return isSeen && status?.updatedReplicas === 2 && status.readyReplicas === 2 && status.currentReplicas === 2;
    });
    await eventually('the daemon set is rolled out', async () => {
      const { metadata, status } = await client.resource(daemonsets).get('agent', { namespace });
      const isSeen = status?.observedGeneration === metadata.generation;
      return isSeen && status?.updatedNumberScheduled === 1 && status.numberAvailable === 1;
    });
  };
  await rolledOut();
  t.equal(await exec(bench, 'db-1', 'hostname'), 'db-1', 'the host has the name of the pod');
  t.match(await exec(bench, 'db-0', 'cat /etc/hosts'), /\bdb-0\.db\.default\.svc\./, 'and one below its service');
  const first = await client.resource(pods).get('db-0', { namespace });

  await client.resource(pods).delete('db-0', { namespace });
  await eventually('another pod of the same name', async () => {
    const { items } = await client.resource(pods).list({ namespace, fieldSelector: 'metadata.name=db-0' });
    return items.length === 1 && items[0]?.metadata.uid !== first.metadata.uid;
  });
  await untilPodReady(client, 'db-0');

  const patch = (app: string) => ({ spec: { template: template(app, `true; ${sleeper}`).template } });
  await client.resource(statefulsets).patch('db', patch('db'), { namespace, type: 'strategic' });
  await client.resource(daemonsets).patch('agent', patch('agent'), { namespace, type: 'strategic' });
  await rolledOut();
  const { items } = await client.resource(pods).list({ namespace, labelSelector: 'app in (db,agent)' });
  const present = items.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  t.equal(present.length, 3);
  t.ok(
    present.every((pod) => pod.spec.containers[0]?.command?.at(-1)?.startsWith('true; ')),
    'all are new',
  );
  await client.resource(statefulsets).delete('db', { namespace, propagationPolicy: 'Foreground' });
  await client.resource(daemonsets).delete('agent', { namespace, propagationPolicy: 'Foreground' });
  await client.resource(services).delete('db', { namespace });
  await eventually('all are gone', async () => {
    const left = await client.resource(pods).list({ namespace, labelSelector: 'app in (db,agent)' });
    return left.items.length === 0;
  });
}
