/** Pods that serve: behind a Service, and replaced by others. */
import type { Test } from 'tap';
import { deployments } from '#api/apps/v1/resources.gen.js';
import { endpoints, pods, services } from '#api/core/v1/resources.gen.js';
import { eventually } from '#test/e2e/harness.js';
import { type Bench, create, exec } from '#test/e2e/lifecycle/bench.js';
import { isReady, namespace, pod, shell, sleeper, statusOf, untilPod } from '#test/e2e/pods.js';

export async function readiness(t: Test, bench: Bench): Promise<void> {
  const { client } = bench;
  const metadata = { name: 'toggled', namespace };
  await client
    .resource(services)
    .create({ metadata, spec: { selector: { app: 'toggled' }, ports: [{ port: 80, targetPort: 8080 }] } });
  const probe = { exec: { command: ['test', '-e', '/tmp/ready'] }, periodSeconds: 1, failureThreshold: 1 };
  const toggled = pod('toggled', [shell(sleeper, { readinessProbe: probe })]);
  await create(bench, { ...toggled, metadata: { ...toggled.metadata, labels: { app: 'toggled' } } });
  const serves = (field: 'addresses' | 'notReadyAddresses') =>
    eventually(`the pod is among ${field}`, async () => {
      const { subsets = [] } = await client.resource(endpoints).get('toggled', { namespace });
      return subsets.length === 1 && subsets[0]?.[field]?.length === 1;
    });
  await untilPod(client, 'toggled', 'runs', (pod) => statusOf(pod)?.state?.running !== undefined);
  await serves('notReadyAddresses');
  await exec(bench, 'toggled', 'touch /tmp/ready');
  await serves('addresses');
  await exec(bench, 'toggled', 'rm /tmp/ready');
  await serves('notReadyAddresses');
  const current = await client.resource(pods).get('toggled', { namespace });
  t.notOk(isReady(current), 'it is not Ready');
  t.equal(statusOf(current)?.restartCount, 0, 'and was not restarted');
}

export async function rollback(t: Test, { client, cluster }: Bench): Promise<void> {
  await client.resource(deployments).create({
    metadata: { name: 'web', namespace },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { terminationGracePeriodSeconds: 2, containers: [{ name: 'web', image: 'orch/web:1.0' }] },
      },
    },
  });
  const rolledOut = async (image: string) => {
    const status = await cluster.ctl('rollout', 'status', 'deployment/web', '--timeout=60s');
    t.equal(status.code, 0, 'rollout status', { stderr: status.stderr });
    const deployment = await client.resource(deployments).get('web', { namespace });
    t.equal(deployment.spec.template.spec?.containers[0]?.image, image);
  };
  await rolledOut('orch/web:1.0');
  const patch = { spec: { template: { spec: { containers: [{ name: 'web', image: 'orch/web:2.0' }] } } } };
  await client.resource(deployments).patch('web', patch, { namespace, type: 'strategic' });
  await rolledOut('orch/web:2.0');
  const undone = await cluster.ctl('rollout', 'undo', 'deployment/web');
  t.equal(undone.code, 0, 'rollout undo', { stderr: undone.stderr });
  await rolledOut('orch/web:1.0');
  const { metadata } = await client.resource(deployments).get('web', { namespace });
  t.equal(metadata.annotations?.['deployment.orch.io/revision'], '3', 'it is a revision of its own');
}
