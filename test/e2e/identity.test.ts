/** Certificates and tokens in clusters of both kinds and dialects, with every kubectl on the PATH in one or both dialects. */
import t from 'tap';
import { kubectls, kubectlsFor, minorVersion, ownRanges, rangeArguments, startTestCluster } from '#test/e2e/harness.js';
import { certificatesAndTokens } from '#test/e2e/identity.js';

t.setTimeout(600_000);
const programs = await kubectls();
if (programs.length === 0) t.pass('no kubectl on the PATH', { skip: true });

for (const [dialect, separate] of [
  ['orch', false],
  ['kubernetes', true],
] as const) {
  if (programs.length === 0) break;
  t.test(`${dialect} dialect, ${separate ? 'a process for each daemon' : 'one process'}`, async (t) => {
    const cluster = await startTestCluster({
      dialect,
      separate,
      runtime: 'simulated',
      args: rangeArguments(await ownRanges()),
    });
    t.teardown(() => cluster.destroy());
    for (const program of kubectlsFor(dialect, programs)) {
      const minor = await minorVersion(program);
      const kubectl = (...args: string[]) => cluster.client(program, args);
      await t.test(`kubectl 1.${minor}`, (t) => certificatesAndTokens(t, { dialect, minor, kubectl }));
    }
  });
}
