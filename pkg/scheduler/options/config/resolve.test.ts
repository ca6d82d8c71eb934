import t from 'tap';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { OptionsError } from '#daemon/options/errors.js';
import { parseOptions } from '#daemon/options/parse.js';
import { validateOptions } from '#daemon/options/validate.js';
import { formatSchedulerConfig } from '#scheduler/options/config/format.js';
import { type ResolvedScheduler, resolveScheduler } from '#scheduler/options/config/resolve.js';
import { schedulerOptions, schedulerRules } from '#scheduler/options/options.js';

const head = 'apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n';
const orchHead = 'apiVersion: scheduler.config.orch.io/v1beta3\nkind: OrchSchedulerConfiguration\n';

function resolve(
  text: string | undefined,
  argv: readonly string[] = [],
  dialect: Dialect = orchDialect,
): ResolvedScheduler {
  const table = schedulerOptions(dialect);
  const parsed = parseOptions(table, argv, { program: 'x' });
  if (parsed.kind !== 'run') throw new Error('no run');
  const file = text === undefined ? {} : { file: { text, source: 'f' } };
  const resolved = resolveScheduler(parsed, { table, dialect, ...file });
  validateOptions(resolved.options, schedulerRules);
  return resolved;
}

function errorsOf(text: string): readonly string[] {
  try {
    resolve(text);
    return [];
  } catch (error) {
    if (error instanceof OptionsError) return error.messages;
    throw error;
  }
}

t.test('every field that is acted on', (t) => {
  const fields = `clientConnection:
  CLIENT: /client
  qps: 7.5
  burst: 8
leaderElection:
  leaderElect: false
  leaseDuration: 30s
  resourceName: mine
enableProfiling: false
percentageOfNodesToScore: 30
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 20
profiles:
- schedulerName: one
- schedulerName: two
`;
  for (const text of [
    head + fields.replace('CLIENT', 'kubeconfig'),
    orchHead + fields.replace('CLIENT', 'orchconfig'),
  ]) {
    const { options, settings } = resolve(text);
    t.match(options.values, {
      orchconfig: '/client',
      'orch-api-qps': 7.5,
      'orch-api-burst': 8,
      'leader-elect': false,
      'leader-elect-lease-duration': 30_000,
      'leader-elect-renew-deadline': 10_000,
      'leader-elect-resource-name': 'mine',
      profiling: false,
    });
    t.same(settings, {
      schedulerNames: ['one', 'two'],
      percentageOfNodesToScore: 30,
      podInitialBackoffMs: 2000,
      podMaxBackoffMs: 20_000,
    });
  }
  t.same(resolve(head).settings.schedulerNames, ['default-scheduler']);
  t.same(resolve(`${head}profiles: [{}]`).settings.schedulerNames, ['default-scheduler']);
  t.end();
});

t.test('deprecated options are ignored beside a file, those of leader election win over it', (t) => {
  const argv = ['--orch-api-qps=1', '--profiling=false', '--leader-elect-retry-period=1s', '--lock-object-name=x'];
  const { options } = resolve(`${head}leaderElection: {retryPeriod: 3s}\n`, argv);
  t.match(options.values, {
    'orch-api-qps': 50,
    profiling: true,
    'leader-elect-retry-period': 1000,
    'leader-elect-resource-name': 'orch-scheduler',
  });
  t.match(options.warnings.join('\n'), /--orch-api-qps is ignored/);
  t.equal(resolve(undefined, ['--orch-api-qps=1']).options.values['orch-api-qps'], 1);
  t.equal(resolve(undefined, ['--lock-object-name=x']).options.values['leader-elect-resource-name'], 'x');
  const both = ['--lock-object-name=x', '--leader-elect-resource-name=y'];
  t.equal(resolve(undefined, both).options.values['leader-elect-resource-name'], 'y');
  t.end();
});

t.test('what is refused, with the name of the field', (t) => {
  const rows: [string, (string | RegExp)[]][] = [
    [`${head}nonsense: 1`, ['f: unknown field "nonsense"']],
    [`${head}clientConnection: {kubeconfig: a, more: 1}`, ['f: unknown field "clientConnection.more"']],
    [`${head}clientConnection: {orchconfig: a}`, ['f: unknown field "clientConnection.orchconfig"']],
    [`${head}profiles: [{schedulerName: a, x: 1}]`, ['f: unknown field "profiles[0].x"']],
    [`${head}leaderElection: {leaseDuration: 5}`, [/leaderElection.leaseDuration: Invalid value: 5/]],
    [`${head}percentageOfNodesToScore: 101`, [/percentageOfNodesToScore: Invalid value: 101/]],
    [`${head}podInitialBackoffSeconds: 0`, [/podInitialBackoffSeconds/]],
    [`${head}podInitialBackoffSeconds: 20`, [/podMaxBackoffSeconds/]],
    [`${head}profiles: [{schedulerName: a}, {schedulerName: a}]`, [/profiles\[1\].schedulerName: Duplicate/]],
    [`${head}profiles: [{schedulerName: a}, {}]`, [/profiles\[1\].schedulerName: Required/]],
    [`${head}leaderElection: {leaseDuration: 5s}`, [/lease-duration must be greater/]],
    ['kind: KubeSchedulerConfiguration', [/apiVersion and kind must be/]],
    ['[]', ['f: must be an object']],
    ['a: {', [/^f: /]],
  ];
  for (const [text, want] of rows) t.match(errorsOf(text), want, text);
  t.end();
});

t.test('fields that are known and idle are named', (t) => {
  const text = `${head}parallelism: 4\nprofiles: [{pluginConfig: [{name: NodeAffinity, args: {a: [1]}}]}]\n`;
  const warnings = resolve(text).options.warnings.join('\n');
  t.match(warnings, /field parallelism has no effect/);
  t.match(warnings, /field profiles\[0\].pluginConfig has no effect/);
  t.end();
});

t.test('what is written can be read, and says the same', (t) => {
  for (const dialect of [orchDialect, kubernetesDialect]) {
    const { options, settings } = resolve(undefined, ['--leader-elect-lease-duration=1m', '--orch-api-qps=3'], dialect);
    const text = formatSchedulerConfig(options.values, settings, dialect);
    const again = resolve(text, [], dialect);
    t.equal(formatSchedulerConfig(again.options.values, again.settings, dialect), text);
    t.match(text, 'leaseDuration: 1m0s');
    t.match(text, 'qps: 3');
  }
  t.end();
});
