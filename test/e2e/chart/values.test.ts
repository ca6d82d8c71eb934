/** Every value of the chart has an effect, by a table of effects; with a real helm. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parseAllDocuments } from 'yaml';
import { type DialectName, dialectByName } from '#apimachinery/dialect.js';
import { startCluster } from '#cluster/embedded/start-cluster.js';
import { scenes } from '#test/e2e/chart/effects.js';
import { chart, fieldAt, noHelm, type Rendered, render, shows, withValue } from '#test/e2e/chart/rendered.js';
import { root, run } from '#test/e2e/harness.js';
import { operatorDefinitions } from '#test/e2e/observing/operator.js';
import { podFaults } from '#test/e2e/pod-faults.js';
import { type ChartSchema, valuesOf } from '../../../hack/reference/chart-schema.js';

const schema = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8')) as ChartSchema;

t.setTimeout(120_000);

t.test('the table has every value of the schema', async (t) => {
  const listed = scenes.flatMap(({ effects }) => Object.keys(effects));
  t.same(
    listed.toSorted(),
    valuesOf(schema)
      .map(({ path }) => path.join('.'))
      .toSorted(),
  );
});

t.test('values', { skip: noHelm ?? false }, async (t) => {
  const work = t.testdir();
  const servers = new Map<unknown, DryRun>();
  for (const dialect of ['kubernetes', 'orch'] as const) servers.set(dialect, await dryRuns(t, dialect, work));
  for (const [index, { name, values, effects }] of scenes.entries()) {
    const given = Object.entries(effects).reduce(
      (all, [path, { value }]) => withValue(all, path.split('.'), value),
      values as Record<string, unknown>,
    );
    const file = (of: string, content: object) => {
      const path = join(work, `${index}-${of}.json`);
      writeFileSync(path, JSON.stringify(content));
      return ['--values', path];
    };
    const [before, after] = await Promise.all([render(...file('off', values)), render(...file('on', given))]);
    t.same(podFaults(after), [], name);
    t.same(await servers.get(given['hostDialect'] ?? 'kubernetes')?.(after), '', `${name}: a server takes all objects`);
    for (const [path, effect] of Object.entries(effects)) {
      const expected = 'shows' in effect ? effect.shows : effect.value;
      const field = fieldAt(after, effect.at);
      t.ok(shows(field, expected), `${path} shows at ${effect.at}`, { field, expected });
      t.notOk(shows(fieldAt(before, effect.at), expected), `${path} is why`);
    }
  }
});

type DryRun = (objects: readonly Rendered[]) => Promise<string>;

/** Sends objects to a server that keeps none of them, and resolves with its complaints. */
async function dryRuns(t: Test, dialect: DialectName, work: string): Promise<DryRun> {
  const cluster = await startCluster({ dialect, listen: true });
  t.teardown(() => cluster.close());
  const config = join(work, `${dialect}.config`);
  writeFileSync(config, cluster.kubeconfig());
  const ctl = async (objects: readonly object[], ...more: string[]) => {
    const file = join(work, `${dialect}.json`);
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
    const env = { KUBECONFIG: config, ORCHCONFIG: config };
    const { stderr } = await run(join(root, 'bin', 'orchctl'), ['create', '-f', file, ...more], {
      env,
      timeoutMs: 60_000,
    });
    return stderr;
  };
  const scheduling = dialectByName(dialect).groupName('scheduling');
  const classes = ['all', 'high'].map((name) => ({
    apiVersion: `${scheduling}/v1`,
    kind: 'PriorityClass',
    metadata: { name },
    value: 1,
  }));
  t.equal(await ctl(classes), '');
  const { text } = operatorDefinitions(['servicemonitors', 'prometheusrules']);
  const isDefined = dialect === 'kubernetes';
  if (isDefined) t.equal(await ctl(parseAllDocuments(text).map((each) => each.toJS() as object)), '');
  return (objects) => ctl(objects, '--dry-run=server', '--validate=strict');
}

t.test('security contexts lose a field that is null', { skip: noHelm ?? false }, async (t) => {
  const set = ['runAsUser', 'runAsGroup', 'fsGroup'].flatMap((name) => [
    '--set',
    `apiServer.podSecurityContext.${name}=null`,
  ]);
  const context = fieldAt(await render(...set), 'Deployment/apiserver spec.template.spec.securityContext');
  t.same(context, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }, 'as OpenShift wants it');
});
