/** kubectl rollout with deployments: history, undo, pause, and autoscaling. */
import type { Test } from 'tap';
import { eventually, type RunResult } from '#test/e2e/harness.js';
import type { Kubectl } from '#test/e2e/kubectl/sets.js';

/** `client` runs kubectl, which may fail. Leaves nothing behind. */
export async function rolloutsOfDeployments(
  t: Test,
  kubectl: Kubectl,
  client: (args: readonly string[]) => Promise<RunResult>,
): Promise<void> {
  const set = 'deployment/web';
  const status = () => kubectl(['rollout', 'status', set, '--timeout=120s']);
  const image = () => kubectl(['get', set, '-o', 'jsonpath={.spec.template.spec.containers[0].image}']);
  const fails = async (action: string, message: RegExp) =>
    t.match((await client(['rollout', action, set])).stderr, message, `rollout ${action}`);
  await kubectl(['create', 'deployment', 'web', '--image=orch/web:1.0', '--replicas=2']);
  t.match(await status(), /deployment "web" successfully rolled out/);
  await kubectl(['set', 'image', set, 'web=orch/web:2.0']);
  await status();
  t.match(await kubectl(['rollout', 'history', set]), /^1 +.*\n2 +/m, 'history');
  t.match(await kubectl(['rollout', 'history', set, '--revision=1']), /orch\/web:1.0/, 'history of one revision');
  t.match(await kubectl(['rollout', 'undo', set, '--to-revision=1']), /rolled back/);
  await status();
  t.equal(await image(), 'orch/web:1.0');
  t.match(await kubectl(['rollout', 'history', set]), /^2 +.*\n3 +/m, 'the old revision has a new number');
  t.match(await kubectl(['rollout', 'restart', set]), /restarted/);
  await status();
  t.match(await kubectl(['rollout', 'history', set]), /^4 +/m, 'a restart is a revision');
  t.match(await kubectl(['rollout', 'pause', set]), /paused/);
  await fails('pause', /already paused/);
  await fails('undo', /paused/);
  await kubectl(['set', 'image', set, 'web=orch/web:2.0']);
  const seen = [
    'get',
    set,
    '-o',
    'jsonpath={.metadata.generation} {.status.observedGeneration} {.status.updatedReplicas}',
  ];
  await eventually('the change is observed, and no pod changes', async () => {
    const [generation, observed, updated = ''] = (await kubectl(seen)).split(' ');
    return generation === observed && updated === '';
  });
  t.match(await kubectl(['rollout', 'resume', set]), /resumed/);
  await fails('resume', /not paused/);
  await status();
  t.match(await kubectl(['rollout', 'history', set]), /^5 +/m);
  t.match(await kubectl(['autoscale', set, '--min=2', '--max=4', '--cpu-percent=80']), /autoscaled/);
  t.match(await kubectl(['get', 'hpa', 'web']), /web +Deployment\/web .* 2 +4 /);
  await kubectl(['delete', 'hpa/web', set]);
  await eventually('all pods are gone', async () => (await kubectl(['get', 'pods', '-o', 'name'])).trim() === '');
}
