import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { parseDuration } from '#apimachinery/duration.js';
import { controllerNames, gatedControllers, selectControllers } from '#controllers/options/names.js';
import {
  controllerManagerOptions,
  controllerManagerRules,
  controllerManagerValues,
  deprecatedOptions,
} from '#controllers/options/options.js';
import { specifiedOptions } from '#controllers/options/testing/specified-options.js';
import { controllerFactories } from '#controllers/registry.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { legacyLoggingOptions } from '#daemon/options/groups/logging.js';
import { type OptionDeclaration, OptionsError, type OptionTable } from '#daemon/options/option.js';
import { parseOptions } from '#daemon/options/parse.js';
import { validateOptions } from '#daemon/options/validate.js';

function shown({ type, default: value }: OptionDeclaration): string {
  if (type === 'bool') return String(value ?? false);
  if (value === undefined || (type === 'int' && value === 0)) return 'none';
  if (Array.isArray(value)) return value.join(',');
  return value === '' ? "''" : String(value);
}

t.test('the table equals the specification', (t) => {
  const table: OptionTable = controllerManagerOptions(orchDialect);
  const extra = new Set(Object.keys(table));
  for (const line of specifiedOptions.trim().split('\n')) {
    const [name = '', type, expected = ''] = line.split(' ');
    const declaration = table[name];
    extra.delete(name);
    if (declaration === undefined) {
      t.fail(`${name} is missing`);
      continue;
    }
    t.equal(declaration.type, type, `${name}: type`);
    const value = type === 'duration' && expected !== 'none' ? String(parseDuration(expected)) : expected;
    t.equal(shown(declaration), type === 'int' && value === '0' ? 'none' : value, `${name}: default`);
  }
  const ours = ['dialect', 'etcd-cafile', 'etcd-certfile', 'etcd-keyfile', 'etcd-servers', 'tracing-config-file'];
  // 1.24 accepts these but does not show them.
  const hidden = [...Object.keys(deprecatedOptions), ...Object.keys(legacyLoggingOptions)];
  t.same([...extra].sort(), [...ours, ...hidden].sort(), 'hidden options');
  const other: OptionTable = controllerManagerOptions(kubernetesDialect);
  t.equal(other['leader-elect-resource-namespace']?.default, 'kube-system');
  t.equal(other['cluster-name']?.default, 'kubernetes');
  t.end();
});

t.test('every controller has a factory', (t) => {
  const factories = Object.keys(controllerFactories);
  t.same(
    Object.keys(controllerNames).filter((name) => !factories.includes(name)),
    [],
  );
  t.end();
});

function failures(argv: readonly string[]): readonly string[] {
  const table = controllerManagerOptions(orchDialect);
  try {
    const parsed = parseOptions(table, argv, { program: 'x' });
    if (parsed.kind === 'run') validateOptions(parsed, controllerManagerRules);
    return [];
  } catch (error) {
    if (error instanceof OptionsError) return error.messages;
    throw error;
  }
}

t.test('invalid combinations of options are rejected', (t) => {
  const rows: [string[], string[]][] = [
    [[], []],
    [['--controllers=-job,deployment'], []],
    [
      ['--controllers=nonsense,-more'],
      ['"nonsense" is not in the list of known controllers', '"more" is not in the list of known controllers'],
    ],
    [['--cluster-cidr=10.0.0.0/8'], []],
    [['--cluster-cidr=10.0.0.0/8', '--allocate-node-cidrs'], []],
    [['--allocate-node-cidrs'], ['--allocate-node-cidrs requires --cluster-cidr']],
    [['--allocate-node-cidrs', '--controllers=*,-nodeipam'], []],
    [
      ['--allocate-node-cidrs', '--cluster-cidr=10.0.0.0/8', '--service-cluster-ip-range=a,b,c'],
      ['--service-cluster-ip-range can not contain more than two entries'],
    ],
    [['--max-endpoints-per-slice=1001'], ['max-endpoints-per-slice must not be more than 1000, but got 1001']],
    [['--concurrent-gc-syncs=0'], ['concurrent-gc-syncs must be greater than 0, but got 0']],
    [
      ['--cluster-signing-cert-file=a'],
      ['--cluster-signing-cert-file and --cluster-signing-key-file must be given together'],
    ],
    [
      [
        '--cluster-signing-cert-file=a',
        '--cluster-signing-key-file=b',
        '--cluster-signing-nodeagent-client-cert-file=c',
        '--cluster-signing-nodeagent-client-key-file=d',
      ],
      ['cannot specify --cluster-signing-{cert,key}-file and other --cluster-signing-*-file flags at the same time'],
    ],
    [
      ['--attach-detach-reconcile-sync-period=1s', '--external-cloud-volume-plugin=x'],
      [
        '--attach-detach-reconcile-sync-period must be greater than one second',
        '--external-cloud-volume-plugin requires --cloud-provider=external',
      ],
    ],
    [['--external-cloud-volume-plugin=x', '--cloud-provider=external'], []],
    [
      ['--horizontal-pod-autoscaler-sync-period=-1s'],
      ['invalid argument "-1s" for "--horizontal-pod-autoscaler-sync-period" flag: must not be negative'],
    ],
    [['--unhealthy-zone-threshold=-1'], ['--unhealthy-zone-threshold must not be negative']],
  ];
  for (const [argv, want] of rows) t.same(failures(argv), want, argv.join(' '));
  t.throws(() => controllerManagerValues(orchDialect, { controllers: ['x'] }), OptionsError);
  t.end();
});

t.test('option names of the dialect are accepted', (t) => {
  const rows: [string, string][] = [
    ['--kubeconfig=/x', 'orchconfig'],
    ['--authentication-kubeconfig=/x', 'authentication-orchconfig'],
    ['--cluster-signing-kube-apiserver-client-cert-file=/x', 'cluster-signing-orch-apiserver-client-cert-file'],
    ['--cluster-signing_kubelet-serving-key-file=/x', 'cluster-signing-nodeagent-serving-key-file'],
    ['--root-ca-file=/x', 'root-ca-file'],
  ];
  for (const [given, want] of rows) {
    const parsed = parseOptions(controllerManagerOptions(kubernetesDialect), [given], { program: 'x' });
    t.match(parsed, { kind: 'run', values: { [want]: '/x' } }, given);
  }
  t.match(failures(['--kubeconfig=/x']), [/unknown flag: --kubeconfig/], 'names of another dialect are rejected');
  t.end();
});

t.test('--controllers selects and deselects by name', (t) => {
  const all = Object.keys(controllerNames);
  t.equal(all.length, 38 + 2, 'those of release 1.24, local-storage-capacity and roll-on-change');
  const rows: [string[], string[]][] = [
    [['*'], all.filter((name) => name !== 'bootstrapsigner' && name !== 'tokencleaner')],
    [['*', '-job', 'tokencleaner'], all.filter((name) => name !== 'bootstrapsigner' && name !== 'job')],
    [
      ['job', 'deployment'],
      ['deployment', 'job'],
    ],
    [['-job'], []],
    [[], []],
  ];
  for (const [given, want] of rows) t.same(selectControllers(given).selected, want, given.join(','));
  t.same([...selectControllers(['*', 'job']).named], ['job']);
  const gates = '--feature-gates=APIServerIdentity=true,StorageVersionAPI=true';
  t.same(failures(['--controllers=storage-version-gc', gates]), [], 'feature gates add one');
  t.match(failures(['--controllers=storage-version-gc']), [/"storage-version-gc" is not in the list of known/]);
  const gated = gatedControllers(new FeatureGates({ APIServerIdentity: true, StorageVersionAPI: true }));
  t.same(selectControllers(['*'], gated).selected.slice(-1), ['storage-version-gc']);
  t.same(selectControllers(['*', '-storage-version-gc'], gated).selected, selectControllers(['*']).selected);
  t.end();
});
