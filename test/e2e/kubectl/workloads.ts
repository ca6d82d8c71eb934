/** Workloads through every kubectl on the PATH, in one dialect or both, on simulated nodes. */
import type { Test } from 'tap';
import type { DialectName } from '#apimachinery/dialect.js';
import { eventually, kubectls, kubectlsFor, minorVersion, Running, startTestCluster } from '#test/e2e/harness.js';
import { autoscale } from '#test/e2e/kubectl/autoscale.js';
import { drains } from '#test/e2e/kubectl/drain.js';
import { rolloutsOfDeployments } from '#test/e2e/kubectl/rollouts.js';
import { rolloutsOfSets } from '#test/e2e/kubectl/sets.js';

export async function workloads(t: Test, dialect: DialectName): Promise<void> {
  /** By their minor versions, the oldest first. */
  const programs = new Map<number, string>();
  for (const program of kubectlsFor(dialect, await kubectls())) programs.set(await minorVersion(program), program);
  const minors = [...programs.keys()].sort((a, b) => a - b);
  if (minors.length === 0) t.pass('no kubectl on the PATH', { skip: true });
  if (minors.length === 0) return;
  const cluster = await startTestCluster({ dialect, runtime: 'simulated', nodes: 2 });
  t.teardown(() => cluster.destroy());
  const clientOf = (minor: number) => async (args: readonly string[], input?: string) => {
    const program = programs.get(minor) ?? '';
    const result = await cluster.client(program, args, input === undefined ? {} : { input });
    t.equal(result.code, 0, `kubectl ${args.join(' ')}`, { stderr: result.stderr });
    return result.stdout;
  };
  // Autoscalers run every fifteen seconds, so other checks run meanwhile.
  const lookAgain: (() => Promise<void>)[] = [];
  for (const minor of minors) lookAgain.push(await autoscale(t, clientOf(minor), `busy-${minor}`));
  for (const minor of minors) {
    const program = programs.get(minor) ?? '';
    const kubectl = clientOf(minor);
    await eventually('the namespace has its account', async () => {
      const { code } = await cluster.client(program, ['get', 'serviceaccount', 'default']);
      return code === 0;
    });
    await t.test(`kubectl 1.${minor}`, { timeout: 300_000 }, async (t) => {
      await t.test('sets', (t) => rolloutsOfSets(t, kubectl));
      const client = (args: readonly string[]) => cluster.client(program, args);
      // kubectl reads revision numbers from an annotation of the `kubernetes` dialect.
      const skip = dialect === 'orch' ? 'kubectl does not find the revisions of deployments' : false;
      await t.test('deployments', { skip }, (t) => rolloutsOfDeployments(t, kubectl, client));
      // Versions in between hardly differ, and a drain that must wait retries only every five seconds.
      if (minor !== minors.at(-1) && (dialect === 'orch' || minor !== minors[0])) return;
      const start = (args: readonly string[]) => new Running(program, args, { KUBECONFIG: cluster.config });
      await t.test('drains', (t) => drains(t, { kubectl, start }));
    });
  }
  for (const look of lookAgain) await look();
}
