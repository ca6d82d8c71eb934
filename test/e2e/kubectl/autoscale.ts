/** kubectl with autoscalers of pods that are not scheduled and use nothing. */
import type { Test } from 'tap';
import { eventually } from '#test/e2e/harness.js';
import type { Kubectl } from '#test/e2e/kubectl/sets.js';

const namespace = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'load' } });

function deployment(name: string): string {
  const labels = { app: name };
  // Its pods fit no node, so that they do not disturb other tests.
  const pod = { nodeSelector: { none: 'such' }, containers: [{ name: 'main', image: 'orch/web:1.0' }] };
  return JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod } },
  });
}

/** Creates an autoscaler in another namespace. The returned function checks it after some time, and deletes it. */
export async function autoscale(t: Test, program: Kubectl, name: string): Promise<() => Promise<void>> {
  await program(['apply', '-f', '-'], namespace);
  const kubectl: Kubectl = (args, input) => program(['--namespace=load', ...args], input);
  await kubectl(['apply', '-f', '-'], deployment(name));
  const output = await kubectl(['autoscale', 'deployment', name, '--min=2', '--max=3', '--cpu-percent=50']);
  t.match(output, /horizontalpodautoscaler\.autoscaling\/busy.* autoscaled/);
  return async () => {
    const size = ['get', 'deployment', name, '-o', 'jsonpath={.spec.replicas}'];
    await eventually('there are as many as there must be', async () => (await kubectl(size)) === '2');
    const condition = '{.status.conditions[?(@.type=="ScalingActive")].reason}';
    // Version v2 has conditions; not every kubectl requests it by default.
    const reason = ['get', 'hpa.v2.autoscaling', name, '-o', `jsonpath=${condition}`];
    await eventually('it misses metrics', async () => (await kubectl(reason)) === 'FailedGetResourceMetric');
    t.match(await kubectl(['get', 'hpa', name]), /busy\S* +Deployment\/busy\S* +.*<unknown>\/50% +2 +3 +2 /);
    const described = await kubectl(['describe', 'hpa', name]);
    t.match(described, /SuccessfulRescale .*New size: 2; reason: Current number of replicas below Spec.MinReplicas/);
    t.match(described, /AbleToScale +True +SucceededGetScale/);
    t.match(described, /unable to get metrics for resource cpu: no metrics returned from resource metrics API/);
    await kubectl(['delete', '--wait', `hpa/${name}`, `deployment/${name}`]);
  };
}
