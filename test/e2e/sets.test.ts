/** Stateful sets and daemon sets through every kubectl on the PATH, on simulated nodes, in both dialects. */
import t from 'tap';
import { eventually, kubectls, minorVersion, startTestCluster } from '#test/e2e/harness.js';
import { rolloutsOfSets } from '#test/e2e/kubectl/sets.js';

t.setTimeout(900_000);
const programs = await kubectls();
if (programs.length === 0) t.pass('no kubectl on the PATH');

for (const dialect of ['orch', 'kubernetes'] as const) {
  if (programs.length === 0) break;
  t.test(`${dialect} dialect`, { timeout: 450_000 }, async (t) => {
    const cluster = await startTestCluster({ dialect, runtime: 'simulated' });
    t.teardown(() => cluster.destroy());
    for (const program of programs) {
      const kubectl = async (args: readonly string[], input?: string) => {
        const result = await cluster.client(program, args, input === undefined ? {} : { input });
        t.equal(result.code, 0, `kubectl ${args.join(' ')}`, { stderr: result.stderr });
        return result.stdout;
      };
      await eventually('the namespace has its account', async () => {
        const { code } = await cluster.client(program, ['get', 'serviceaccount', 'default']);
        return code === 0;
      });
      await t.test(`kubectl 1.${await minorVersion(program)}`, { timeout: 120_000 }, (t) => rolloutsOfSets(t, kubectl));
    }
  });
}
