/** kubectl drain: which pods it evicts, which pods it leaves, and uncordon. */
import type { Test } from 'tap';
import { eventually, type Running } from '#test/e2e/harness.js';
import type { Kubectl } from '#test/e2e/kubectl/sets.js';

export interface DrainSession {
  readonly kubectl: Kubectl;
  /** Starts kubectl. */
  readonly start: (args: readonly string[]) => Running;
}

const volumes = [{ name: 'scratch', emptyDir: {} }];
const pod = { terminationGracePeriodSeconds: 1, containers: [{ name: 'main', image: 'orch/web:1.0' }] };
const flags = ['--ignore-daemonsets', '--delete-emptydir-data', '--force', '--timeout=120s'];

function workload(kind: 'Deployment' | 'DaemonSet', name: string, more: object) {
  const metadata = { labels: { app: name } };
  const spec = {
    selector: { matchLabels: metadata.labels },
    template: { metadata, spec: { ...pod, volumes } },
    ...more,
  };
  return { apiVersion: 'apps/v1', kind, metadata: { name }, spec };
}

/** On a cluster with several nodes. Leaves nothing behind. */
export async function drains(t: Test, { kubectl, start }: DrainSession): Promise<void> {
  const [node = ''] = (await kubectl(['get', 'nodes', '-o', 'jsonpath={.items[*].metadata.name}'])).split(' ');
  const items = [
    workload('Deployment', 'guarded', { replicas: 2 }),
    workload('DaemonSet', 'everywhere', {}),
    { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'alone' }, spec: { ...pod, nodeName: node } },
  ];
  // Both of the deployment's pods go to the node that will be drained.
  const others = (await kubectl(['get', 'nodes', '-o', 'jsonpath={.items[1:].metadata.name}'])).split(' ');
  await kubectl(['cordon', ...others]);
  await kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  await kubectl(['create', 'pdb', 'guard', '--selector=app=guarded', '--min-available=2']);
  for (const set of ['deployment/guarded', 'daemonset/everywhere']) {
    await kubectl(['rollout', 'status', set, '--timeout=120s']);
  }
  await kubectl(['wait', '--for=condition=Ready', 'pod/alone', '--timeout=60s']);
  await kubectl(['uncordon', ...others]);
  const there = async () => {
    const names = ['get', 'pods', `--field-selector=spec.nodeName=${node}`, '-o', 'name'];
    return (await kubectl(names))
      .trim()
      .split('\n')
      .map((name) => name.replace(/-.*$/, ''))
      .sort();
  };
  t.same(await there(), ['pod/alone', 'pod/everywhere', 'pod/guarded', 'pod/guarded']);

  const refused = start(['drain', node]);
  t.not(await refused.exited, 0);
  for (const flag of flags.slice(0, 3)) t.match(refused.stderr, flag, 'what has to be allowed is named');
  t.match(await kubectl(['get', 'node', node]), /SchedulingDisabled/, 'no more pods come');

  const budget = async (path: string) => kubectl(['get', 'pdb', 'guard', '-o', `jsonpath={.status.${path}}`]);
  await eventually('the budget is counted', async () => (await budget('currentHealthy')) === '2');
  const draining = start(['drain', node, ...flags]);
  await eventually('it waits for the budget', async () => {
    if (draining.stderr.includes("violate the pod's disruption budget")) return true;
    const code = await Promise.race([draining.exited, undefined]);
    if (code !== undefined) throw new Error(`drain ended with ${code}: ${draining.stderr}`);
    return false;
  });
  t.equal((await there()).filter((name) => name === 'pod/guarded').length, 2, 'no pod was evicted');
  // With enough replicas on other nodes the evictions succeed.
  await kubectl(['scale', 'deployment/guarded', '--replicas=4']);
  t.equal(await draining.exited, 0, 'it goes on', { stderr: draining.stderr });
  t.same(await there(), ['pod/everywhere'], 'only the daemon is left');
  t.match(await kubectl(['uncordon', node]), /uncordoned/);
  t.notMatch(await kubectl(['get', 'node', node]), /SchedulingDisabled/);
  await kubectl(['delete', 'pdb/guard', 'deployment/guarded', 'daemonset/everywhere']);
  await eventually('all pods are gone', async () => (await kubectl(['get', 'pods', '-o', 'name'])).trim() === '');
}
