/** Every value of the chart has an effect, by a table of effects; with a real helm. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parse, parseAllDocuments } from 'yaml';
import { type DialectName, dialectByName } from '#apimachinery/dialect.js';
import { startCluster } from '#cluster/embedded/start-cluster.js';
import { scenes } from '#test/e2e/chart/effects.js';
import { chartExamples } from '#test/e2e/chart/examples.js';
import { chart, fieldAt, noHelm, type Rendered, render, shows, withValue } from '#test/e2e/chart/rendered.js';
import { root, run } from '#test/e2e/harness.js';
import { operatorDefinitions } from '#test/e2e/observing/operator.js';
import { podFaults } from '#test/e2e/pod-faults.js';
import { type ChartSchema, valuesOf } from '../../../hack/reference/chart-schema.js';

const schema = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8')) as ChartSchema;

t.setTimeout(240_000);

t.test('the table has every value of the schema', async (t) => {
  const listed = scenes.flatMap(({ effects }) => Object.keys(effects));
  t.same(
    listed.toSorted(),
    valuesOf(schema)
      .map(({ path }) => path.join('.'))
      .toSorted(),
  );
});

t.test('the icon is an image in the chart itself', async (t) => {
  const { icon } = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')) as { icon: string };
  const [, data = ''] = /^data:image\/svg\+xml;base64,(.+)$/.exec(icon) ?? [];
  t.match(Buffer.from(data, 'base64').toString(), /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" .*<\/svg>$/);
});

t.test('values', { skip: noHelm ?? false }, async (t) => {
  const work = t.testdir();
  const rendered: Record<DialectName, Rendered[]> = { kubernetes: [], orch: [] };
  for (const [index, { name, values, effects, upgrade = false }] of scenes.entries()) {
    const given = Object.entries(effects).reduce(
      (all, [path, { value }]) => withValue(all, path.split('.'), value),
      values as Record<string, unknown>,
    );
    const file = (of: string, content: object) => {
      const path = join(work, `${index}-${of}.json`);
      writeFileSync(path, JSON.stringify(content));
      return ['--values', path];
    };
    const more = upgrade ? ['--is-upgrade'] : [];
    const [before, after] = await Promise.all([
      render(...file('off', values), ...more),
      render(...file('on', given), ...more),
    ]);
    t.same(podFaults(after), [], name);
    rendered[given['hostDialect'] === 'orch' ? 'orch' : 'kubernetes'].push(...after);
    for (const [path, effect] of Object.entries(effects)) {
      const expected = 'shows' in effect ? effect.shows : effect.value;
      const field = fieldAt(after, effect.at);
      t.ok(shows(field, expected), `${path} shows at ${effect.at}`, { field, expected });
      t.notOk(shows(fieldAt(before, effect.at), expected), `${path} is why`);
    }
  }
  for (const dialect of ['kubernetes', 'orch'] as const)
    t.equal(await complaints(t, dialect, rendered[dialect], work), '', `a server of ${dialect} takes all objects`);
});

/** What a server says of objects that it checks and does not keep. */
async function complaints(t: Test, dialect: DialectName, objects: readonly Rendered[], work: string): Promise<string> {
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
  return ctl(objects, '--dry-run=server', '--validate=strict');
}

t.test('examples', { skip: noHelm ?? false }, async (t) => {
  const work = t.testdir();
  const { values, objects } = chartExamples();
  const all = objects.map((text) => parse(text) as Rendered);
  for (const [index, { title, values: given }] of values.entries()) {
    const path = join(work, `example-${index}.json`);
    writeFileSync(path, JSON.stringify(given));
    const rendered = await render('--values', path);
    t.same(podFaults(rendered), [], title);
    all.push(...rendered);
  }
  t.equal(await complaints(t, 'kubernetes', all, work), '', 'a server takes all objects');
});

t.test('values that cannot be', { skip: noHelm ?? false }, async (t) => {
  for (const [set, says] of [
    ['restore.backup=orch-20260131T120000Z', /install it without, then upgrade/],
    ['restore.backup=latest', /restore.backup/],
    ['backup.enabled=true,backup.s3.bucket=b', /backup.s3.secret is needed/],
    ['apiServer.image.digest=sha256:12', /apiServer.image.digest/],
    ['apiServer.podSpec.hostNetwork=true', /apiServer.podSpec/],
    ['apiServer.extraEnv[0].value=a', /name is required/],
    ['fullnameOverride=Upper', /fullnameOverride/],
    ['apiServer.extraArgs.a.b=c', /apiServer.extraArgs/],
  ] as const)
    await t.rejects(render('--set', set), says, set);
});

t.test('security contexts lose a field that is null', { skip: noHelm ?? false }, async (t) => {
  const set = ['runAsUser', 'runAsGroup', 'fsGroup'].flatMap((name) => [
    '--set',
    `apiServer.podSecurityContext.${name}=null`,
  ]);
  const context = fieldAt(await render(...set), 'Deployment/apiserver spec.template.spec.securityContext');
  t.same(context, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }, 'as OpenShift wants it');
});
