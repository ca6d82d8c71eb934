import { readFileSync } from 'node:fs';
import t from 'tap';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { OptionsError } from '#daemon/options/option.js';
import { parseOptions } from '#daemon/options/parse.js';
import { validateOptions } from '#daemon/options/validate.js';
import { formatSchedulerConfig } from '#scheduler/options/config/format.js';
import { type ResolvedScheduler, resolveScheduler } from '#scheduler/options/config/resolve.js';
import { schedulerOptions, schedulerRules } from '#scheduler/options/options.js';
import { profileOf } from '#scheduler/plugins/profiles.js';
import { pluginKinds } from '#scheduler/plugins/registry.js';

/** The checkout: tests run from dist/pkg/scheduler/options/config. */
const root = new URL('../../../../../', import.meta.url);

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

t.test('reads every supported field', (t) => {
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
      profiles: ['one', 'two'].map((schedulerName) => ({ schedulerName, sets: {}, args: {} })),
      percentageOfNodesToScore: 30,
      podInitialBackoffMs: 2000,
      podMaxBackoffMs: 20_000,
      extenders: [],
      pluginModules: [],
    });
  }
  t.match(resolve(head).settings.profiles, [{ schedulerName: 'default-scheduler' }]);
  t.match(resolve(`${head}profiles: [{}]`).settings.profiles, [{ schedulerName: 'default-scheduler' }]);
  t.end();
});

t.test('a file overrides deprecated options, leader election options override the file', (t) => {
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

t.test('refuses invalid files with the name of the field', (t) => {
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
    [`${head}leaderElection: {leaseDuration: 5s}`, [/leaseDuration must be greater than renewDeadline/]],
    ['kind: KubeSchedulerConfiguration', [/apiVersion and kind must be/]],
    [
      `${head}extenders: [{urlPrefix: "http://a", prioritizeVerb: p}]`,
      [/extenders\[0\].weight: .*: must have a positive weight/],
    ],
    [
      `${head}extenders: [{urlPrefix: "http://a", bindVerb: p}, {urlPrefix: "http://b", bindVerb: p}]`,
      [/only one extender can implement/],
    ],
    [
      `${head}extenders: [{urlPrefix: "http://a", managedResources: [{name: a.io/b}, {name: a.io/b}, {name: cpu}]}]`,
      [/managedResources\[1\].name: .*: duplicate/, /managedResources\[2\].name: .*: is an invalid extended resource/],
    ],
    ['[]', ['f: must be an object']],
    ['a: {', [/^f: /]],
  ];
  for (const [text, want] of rows) t.match(errorsOf(text), want, text);
  t.end();
});

t.test('warns about fields without effect', (t) => {
  const idle = 'parallelism: 4\nenableContentionProfiling: true\nclientConnection: {acceptContentTypes: a/b}\n';
  const { warnings } = resolve(`${head}${idle}`).options;
  t.same(warnings, [
    'f: field parallelism has no effect: one thread decides, node after node',
    'f: field enableContentionProfiling has no effect: the runtime has no locks that threads contend for',
    'f: field clientConnection.acceptContentTypes has no effect: the client accepts what contentType says, and JSON',
  ]);
  const early = resolve(`${head}profiles: [{plugins: {preScore: {disabled: [{name: '*'}]}}}]`).options.warnings;
  t.match(early.join(), /profiles\[0\].plugins.preScore has no effect: it comes with score/);
  t.end();
});

/** The plugins of the first profile of a file. */
function profile(text: string) {
  const [first] = resolve(`${head}profiles:\n- ${text}`).settings.profiles;
  return profileOf(first ?? { schedulerName: '', sets: {}, args: {} }, orchDialect);
}

t.test('reads files of v1beta2', (t) => {
  for (const text of [head, orchHead]) {
    const old = text.replace('v1beta3', 'v1beta2');
    const [first] = resolve(old).settings.profiles;
    const { scores } = profileOf(first ?? { schedulerName: '', sets: {}, args: {} }, orchDialect);
    t.same(
      scores.map(({ plugin, weight }) => `${plugin} ${weight}`),
      [
        'TaintToleration 1',
        'NodeAffinity 1',
        'NodeResourcesFit 1',
        'PodTopologySpread 2',
        'InterPodAffinity 1',
        'NodeResourcesBalancedAllocation 1',
        'ImageLocality 1',
      ],
    );
    t.same(errorsOf(`${old}profiles: [{plugins: {multiPoint: {}}}]`), [
      'f: unknown field "profiles[0].plugins.multiPoint"',
    ]);
  }
  t.end();
});

t.test('resolves the plugins of a profile', (t) => {
  const names = (points: readonly { readonly plugin: string }[]) => points.map(({ plugin }) => plugin);
  const byDefault = profile('schedulerName: a');
  t.same(names(byDefault.filters), [
    'NodeUnschedulable',
    'NodeName',
    'TaintToleration',
    'NodeAffinity',
    'NodePorts',
    'NodeResourcesFit',
    'VolumeRestrictions',
    'EBSLimits',
    'GCEPDLimits',
    'NodeVolumeLimits',
    'AzureDiskLimits',
    'VolumeBinding',
    'VolumeZone',
    'PodTopologySpread',
    'InterPodAffinity',
  ]);
  const weights = byDefault.scores.map(({ plugin, weight }) => `${plugin} ${weight}`);
  t.same(weights, [
    'TaintToleration 3',
    'NodeAffinity 2',
    'NodeResourcesFit 1',
    'PodTopologySpread 2',
    'InterPodAffinity 2',
    'NodeResourcesBalancedAllocation 1',
    'ImageLocality 1',
  ]);
  t.match(byDefault.preemption, { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100 });
  const needed = '{name: PrioritySort}, {name: DefaultBinder}';
  const few = profile(
    `plugins: {multiPoint: {enabled: [${needed}, {name: ImageLocality, weight: 7}], disabled: [{name: "*"}]}}`,
  );
  t.same(few.filters, []);
  t.match(few.scores, [{ plugin: 'ImageLocality', weight: 7 }]);
  t.equal(few.preemption, undefined);
  const noTaints = profile(
    'plugins: {filter: {disabled: [{name: TaintToleration}]}, postFilter: {disabled: [{name: "*"}]}}',
  );
  t.notOk(names(noTaints.filters).includes('TaintToleration'));
  t.ok(names(noTaints.scores).includes('TaintToleration'));
  t.equal(noTaints.preemption, undefined);
  t.end();
});

t.test('the example file in docs/scheduler.md is valid', (t) => {
  const page = readFileSync(new URL('docs/scheduler.md', root), 'utf8');
  const [, text = ''] = /```yaml\n(.*?)```/s.exec(page) ?? [];
  const { options, settings } = resolve(text);
  t.same(options.warnings, []);
  t.equal(settings.percentageOfNodesToScore, 50);
  const [, packed] = settings.profiles.map((each) => profileOf(each, orchDialect));
  t.equal(packed?.schedulerName, 'packed');
  t.equal(packed?.preemption, undefined);
  t.match(packed?.scores[0], { plugin: 'NodeResourcesFit', weight: 5 });
  t.notOk(packed?.scores.some(({ plugin }) => plugin === 'NodeResourcesBalancedAllocation'));
  // The page's table lists exactly the filters and scores.
  const listed = [...page.matchAll(/^\| `([A-Z]\w+)` \|/gm)].map(([, name]) => name);
  const acting = pluginKinds
    .map(({ name }) => name)
    .filter((name) => !['PrioritySort', 'DefaultBinder'].includes(name));
  t.same(listed, acting);
  t.end();
});

t.test('refuses invalid plugin arguments with their path', (t) => {
  const constraint = (key: string) => `{maxSkew: 1, topologyKey: ${key}, whenUnsatisfiable: ScheduleAnyway}`;
  const rows: [plugin: string, args: string, want: string | RegExp][] = [
    ['NodeAffinity', '{a: 1}', 'f: unknown field "profiles[0].pluginConfig[0].args.a"'],
    ['InterPodAffinity', '{hardPodAffinityWeight: 101}', /args\.hardPodAffinityWeight: Invalid value: 101/],
    ['NodeResourcesFit', '{scoringStrategy: {type: Best}}', /scoringStrategy\.type: Unsupported value: "Best"/],
    [
      'NodeResourcesFit',
      '{scoringStrategy: {resources: [{name: cpu, weight: 101}]}}',
      /resources\[0\]\.weight: Invalid/,
    ],
    ['NodeResourcesFit', '{scoringStrategy: {type: RequestedToCapacityRatio}}', /at least one point/],
    [
      'PodTopologySpread',
      '{defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}',
      /args\.defaultingType: Invalid value: "System": when \.defaultConstraints are not empty/,
    ],
    [
      'DefaultPreemption',
      '{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}',
      /minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute/,
    ],
    [
      'VolumeBinding',
      '{bindTimeoutSeconds: -1}',
      /bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value/,
    ],
    ['VolumeBinding', '{shape: [{utilization: 0, score: 0}]}', /args\.shape: Invalid value: unexpected field `shape`/],
    [
      'DefaultPreemption',
      '{minCandidateNodesAbsolute: -1}',
      /minCandidateNodesAbsolute: .* not in valid range \[0, inf\)/,
    ],
    [
      'PodTopologySpread',
      `{defaultingType: List, defaultConstraints: [${constraint('a')}, ${constraint('b')}, ${constraint('a')}]}`,
      /defaultConstraints\[2\]: Duplicate value: "\{a, ScheduleAnyway\}"/,
    ],
    ['NodeName', '{}', /name: Invalid value: "NodeName": takes no arguments/],
    ['Mine', '{}', /name: Invalid value: "Mine": does not exist/],
  ];
  for (const [name, args, want] of rows) {
    t.match(errorsOf(`${head}profiles: [{pluginConfig: [{name: ${name}, args: ${args}}]}]`), [want], `${name} ${args}`);
  }
  const unknown = `${head}profiles: [{plugins: {score: {enabled: [{name: Mine}]}}}]`;
  t.match(errorsOf(unknown), [
    /profiles\[0\]\.plugins\.score\.enabled\[0\]\.name: Invalid value: "Mine": does not exist/,
  ]);
  t.end();
});

t.test('a written file reads back the same', (t) => {
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
