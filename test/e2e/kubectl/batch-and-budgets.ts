/** Jobs, cron jobs and disruption budgets, as users make them with kubectl. */
import type { Test } from 'tap';
import { eventually, type RunResult } from '#test/e2e/harness.js';

const image = '--image=orch/web:1.0';

/** `client`: runs kubectl, of release 1.`minor`, with these arguments. Leaves nothing behind. */
export async function batchAndBudgets(
  t: Test,
  minor: number,
  client: (...args: string[]) => Promise<RunResult>,
): Promise<void> {
  const ok = async (...args: string[]): Promise<string> => {
    const result = await client(...args);
    t.equal(result.code, 0, `kubectl ${args.join(' ')}`, { stderr: result.stderr });
    return result.stdout;
  };
  await ok('create', 'cronjob', 'tick', image, '--schedule=0 0 1 1 *', '--', 'true');
  // Before 1.21 kubectl does not know cron jobs in their final version.
  await ok('create', 'job', 'by-hand', `--from=${minor < 21 ? 'cronjob.v1beta1.batch' : 'cronjob'}/tick`);
  await ok('create', 'job', 'plain', image, '--', 'true');
  await ok('wait', '--for=condition=complete', 'job/by-hand', 'job/plain', '--timeout=60s');
  t.match(await ok('get', 'job', 'plain'), /plain +1\/1/);
  t.match(await ok('describe', 'job', 'plain'), /Completed.*Job completed/);
  t.match(await ok('get', 'cronjob', 'tick'), /tick +0 0 1 1 \* +False +0 /);

  await ok('create', 'deployment', 'guarded', image, '--replicas=3');
  await ok('create', 'pdb', 'guard', '--selector=app=guarded', '--min-available=2');
  await ok('rollout', 'status', 'deployment/guarded', '--timeout=60s');
  const allowed = () => ok('get', 'pdb', 'guard', '-o', 'jsonpath={.status.disruptionsAllowed}');
  await eventually('one may go', async () => (await allowed()) === '1');
  const node = (await ok('get', 'nodes', '-o', 'jsonpath={.items[0].metadata.name}')).trim();
  // kubectl checks its timeout only at its next retry, after five seconds.
  const drained = await client(
    ...['drain', node, '--pod-selector=app=guarded', '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=4s'],
  );
  t.not(drained.code, 0, 'the last two stay');
  t.match(drained.stderr, /violate the pod's disruption budget/);
  const ready = () => ok('get', 'deployment', 'guarded', '-o', 'jsonpath={.status.readyReplicas}');
  await eventually('two are left', async () => (await ready()) === '2');
  await ok('uncordon', node);
  await eventually('all are back', async () => (await allowed()) === '1');
  // The job by hand may go with the cron job that it was made from.
  await ok(
    'delete',
    'cronjob/tick',
    'job/by-hand',
    'job/plain',
    'deployment/guarded',
    'pdb/guard',
    '--ignore-not-found',
  );
}
