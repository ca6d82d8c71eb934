/** Quotas, as users make them with kubectl. */
import type { Test } from 'tap';
import { eventually, type RunResult } from '#test/e2e/harness.js';

/** `client`: runs kubectl with these arguments. Leaves nothing behind. */
export async function quotas(t: Test, client: (...args: string[]) => Promise<RunResult>): Promise<void> {
  const ok = async (...args: string[]): Promise<string> => {
    const result = await client(...args);
    t.equal(result.code, 0, `kubectl ${args.join(' ')}`, { stderr: result.stderr });
    return result.stdout;
  };
  const here = ['-n', 'limited'];
  await ok('create', 'namespace', 'limited');
  await ok('create', 'quota', 'small', '--hard=secrets=2,count/deployments.apps=1,limits.cpu=2,pods=5', ...here);
  await ok('create', 'quota', 'best', '--hard=pods=0', '--scopes=BestEffort', ...here);
  const used = (name: string) => ok('get', 'quota', name, ...here, '-o', 'jsonpath={.status.used}');
  await eventually('they are counted', async () =>
    [await used('small'), await used('best')].every((text) => text !== ''),
  );
  await ok('create', 'secret', 'generic', 'a', ...here);
  await ok('create', 'secret', 'generic', 'b', ...here);
  const refused = await client('create', 'secret', 'generic', 'c', ...here);
  t.not(refused.code, 0, 'there is no room for the third');
  t.match(
    refused.stderr,
    /secrets "c" is forbidden: exceeded quota: small, requested: secrets=1, used: secrets=2, limited: secrets=2/,
  );
  await ok('create', 'deployment', 'web', '--image=orch/web:1.0', ...here);
  const described = await ok('describe', 'quota', 'small', ...here);
  t.match(described, /Resource +Used +Hard/);
  t.match(described, /count\/deployments.apps +1 +1/);
  t.match(described, /secrets +2 +2/);
  t.match(await ok('describe', 'quota', 'best', ...here), /Scopes: +BestEffort[\s\S]*pods +0 +0/);
  t.match(await ok('describe', 'namespace', 'limited'), /Resource Quotas?[\s\S]*small[\s\S]*secrets +2 +2/);
  await eventually('the events of the replica set name the missing limit', async () => {
    return /must specify limits.cpu for: web/.test(await ok('describe', 'replicasets', ...here));
  });
  await ok('delete', 'secret', 'a', ...here);
  await eventually(
    'a deletion is given back',
    async () => (await client('create', 'secret', 'generic', 'c', ...here)).code === 0,
  );
  await ok('delete', 'namespace', 'limited');
}
