/** Every option of every daemon is used, and validated, bounded and warned about as declared. */
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { apiServerOptions } from '#apiserver/options/options.js';
import { apiServerProgramRules } from '#apiserver/options/rules.js';
import { controllerManagerOptions, controllerManagerRules } from '#controllers/options/options.js';
import { type OptionDeclaration, OptionsError, type OptionTable, type OptionType } from '#daemon/options/option.js';
import { type ParsedOptions, parseOptions } from '#daemon/options/parse.js';
import { validateOptions } from '#daemon/options/validate.js';
import { nodeAgentOptionRules, nodeAgentOptionTable } from '#nodeagent/options/options.js';
import { schedulerOptions, schedulerRules } from '#scheduler/options/options.js';

t.setTimeout(120_000);

interface Daemon {
  readonly name: string;
  readonly table: (dialect: Dialect) => OptionTable;
  /** Throws OptionsError. */
  readonly validate: (parsed: ParsedOptions<never>) => void;
  /** Required options. */
  readonly needed?: readonly string[];
  /** Numbers and durations that may be negative. */
  readonly negative: string;
  /** Sources that read its options, in addition to those of all daemons. */
  readonly sources: readonly string[];
  /** Options without an effect: only one value is allowed, or no value matters. */
  readonly settled?: readonly string[];
}

const daemons: readonly Daemon[] = [
  {
    name: 'API server',
    table: apiServerOptions,
    sources: ['pkg/apiserver', 'cmd/orch-apiserver'],
    settled: ['storage-backend', 'storage-media-type', 'audit-log-version', 'audit-webhook-version'],
    validate: (parsed) => validateOptions(parsed, apiServerProgramRules as never),
    needed: [
      '--etcd-servers=https://127.0.0.1:2379',
      '--service-account-issuer=https://issuer.example',
      '--service-account-signing-key-file=/pki/sa.key',
      '--audit-log-path=/audit.log',
      '--audit-webhook-config-file=/audit',
    ],
    // Options of disabled or unused backends and removed loggers; zero or less means the default or none.
    negative: `http2-max-streams-per-connection default-not-ready-toleration-seconds
      default-unreachable-toleration-seconds max-connection-bytes-per-sec default-watch-cache-size authentication-token-webhook-cache-ttl authorization-webhook-cache-authorized-ttl
      authorization-webhook-cache-unauthorized-ttl nodeagent-read-only-port audit-log-batch-buffer-size
      audit-log-batch-max-size audit-log-batch-max-wait audit-log-batch-throttle-burst audit-log-batch-throttle-qps
      audit-log-truncate-max-batch-size audit-log-truncate-max-event-size audit-webhook-batch-max-wait
      audit-webhook-initial-backoff audit-webhook-truncate-max-batch-size audit-webhook-truncate-max-event-size
      log-file-max-size stderrthreshold v`,
  },
  {
    name: 'controller manager',
    table: controllerManagerOptions,
    sources: ['pkg/controllers', 'cmd/orch-controller-manager'],
    validate: (parsed) => validateOptions(parsed, controllerManagerRules as never),
    // No limit of the rate; nothing is logged beyond warnings; zero or less turns the collection off.
    negative: `http2-max-streams-per-connection orch-api-qps orch-api-burst v terminated-pod-gc-threshold log-file-max-size stderrthreshold
      deleting-pods-burst deleting-pods-qps horizontal-pod-autoscaler-downscale-delay
      horizontal-pod-autoscaler-upscale-delay node-sync-period register-retry-count`,
  },
  {
    name: 'scheduler',
    table: schedulerOptions,
    sources: ['pkg/scheduler', 'cmd/orch-scheduler'],
    // Read by the names that both have in common.
    settled: ['lock-object-name', 'lock-object-namespace'],
    validate: (parsed) => validateOptions(parsed, schedulerRules as never),
    negative: 'http2-max-streams-per-connection orch-api-qps orch-api-burst v log-file-max-size stderrthreshold',
  },
  {
    name: 'node agent',
    table: nodeAgentOptionTable,
    sources: ['pkg/nodeagent', 'pkg/cluster/node-agent'],
    validate: (parsed) => validateOptions(parsed, nodeAgentOptionRules as never),
    // Each has a meaning below zero, or is of a logger or a collector that is gone.
    negative: `eviction-max-pod-grace-period oom-score-adj pod-max-pids node-status-max-images volume-stats-agg-period
      cpu-manager-reconcile-period maximum-dead-containers maximum-dead-containers-per-container
      minimum-container-ttl-duration log-file-max-size stderrthreshold v application-metrics-count-limit
      global-housekeeping-interval housekeeping-interval storage-driver-buffer-duration`,
  },
];

/** A text, the value it is read as, and a text that is none. */
const samples: Readonly<Record<OptionType, readonly [good: string, value: unknown, bad: string | undefined]>> = {
  string: ['text', 'text', undefined],
  strings: ['a,b', ['a', 'b'], '"a'],
  stringArray: ['a,b', ['a,b'], undefined],
  bool: ['true', true, 'yes'],
  int: ['0x10', 16, '1.5'],
  float: ['2.5', 2.5, 'much'],
  duration: ['1m30s', 90_000, '90'],
  map: ['a=1,b=2', { a: '1', b: '2' }, 'a'],
  boolMap: ['A=true,B=false', { A: true, B: false }, 'A=maybe'],
};

function parse(daemon: Daemon, dialect: Dialect, argv: readonly string[]): ParsedOptions<OptionTable> {
  const parsed = parseOptions(daemon.table(dialect), argv, { program: 'p' });
  if (parsed.kind !== 'run') throw new TypeError(parsed.kind);
  return parsed;
}

/** The messages of the refusal. */
function refused(run: () => unknown): readonly string[] {
  try {
    run();
    return [];
  } catch (error) {
    if (error instanceof OptionsError) return error.messages;
    throw error;
  }
}

/** For options with forms of their own: an address, a range of ports, gates, levels of modules, a pair of files, a size. */
const special = ['127.0.0.1', '1-2', 'AllAlpha=true', 'a=1,b=2', 'a,b', '2Ki'] as const;

function sampleOf({ type, check, oneOf }: OptionDeclaration): readonly [text: string, value: unknown] {
  const usual = [samples[type][0], samples[type][1]] as const;
  const first = oneOf?.find((value) => value !== '') ?? special.find((text) => check !== undefined && !check(text));
  if (first === undefined || (check !== undefined && check(usual[0]) === undefined)) return usual;
  if (type === 'boolMap') return [first, { AllAlpha: true }];
  return [first, type === 'strings' ? first.split(',') : type === 'stringArray' ? [first] : first];
}

/** The sources that read options: not their declarations, their rules or their tests. */
async function readers(folders: readonly string[]): Promise<string> {
  // Tests run compiled, below dist.
  const root = new URL('../../../../', import.meta.url);
  const texts: string[] = [];
  for (const folder of [...folders, 'pkg/daemon', 'pkg/client', 'pkg/control-loop', 'pkg/storage']) {
    const directory = new URL(`${folder}/`, root);
    for (const file of await readdir(fileURLToPath(directory), { recursive: true })) {
      const declares =
        /(^|\/)(groups|options)\/|options\.ts$|rules\.ts$|fields\.ts$|specified|\.test\.ts$|\.gen\.ts$/.test(file);
      if (file.endsWith('.ts') && !declares) texts.push(await readFile(new URL(file, directory), 'utf8'));
    }
  }
  return texts.join('\n');
}

for (const daemon of daemons) {
  t.test(`${daemon.name}: an option that nothing reads says so`, async (t) => {
    const text = await readers(daemon.sources);
    const silent = Object.entries(daemon.table(orchDialect))
      .filter(([name, { inert }]) => inert === undefined && daemon.settled?.includes(name) !== true)
      .filter(
        ([name]) => !new RegExp(`['"\`]${name}['"\`]|values\\??\\.${name}\\b|[{,] ${name}\\b[^\\n]* = `).test(text),
      )
      .map(([name]) => name);
    t.same(silent, []);
  });

  t.test(`${daemon.name}: every option is read by each of its names, and warned about where it must be`, async (t) => {
    for (const dialect of [orchDialect, kubernetesDialect]) {
      for (const [name, declaration] of Object.entries(daemon.table(dialect))) {
        const [text, value] = sampleOf(declaration);
        const { values, given, warnings, refusals } = parse(daemon, dialect, [`--${name}=${text}`]);
        t.same(values[name], value, `--${name}`);
        t.same([...given], [name]);
        t.equal(
          warnings.some((line) => line.includes('has been deprecated')),
          declaration.deprecated !== undefined,
        );
        t.equal(
          [...warnings, ...refusals].filter((line) => line.includes('has no effect')).length,
          declaration.inert !== undefined && declaration.inertUnless?.includes(text) !== true ? 1 : 0,
        );
        if (declaration.protects !== true) t.same(refusals, []);
        for (const spelled of declaration.aliases ?? []) {
          t.same(parse(daemon, dialect, [`--${spelled.replaceAll('-', '_')}=${text}`]).values[name], value, spelled);
        }
      }
    }
  });

  t.test(`${daemon.name}: what is no value of the option is refused, all at once`, async (t) => {
    const table = daemon.table(orchDialect);
    const wrong = Object.entries(table).flatMap(([name, { type, oneOf, bareKeys }]) => {
      const bad = oneOf === undefined ? samples[type][2] : 'none-of-these';
      return bad === undefined || bareKeys === true ? [] : [[name, bad] as const];
    });
    const messages = refused(() =>
      parse(
        daemon,
        orchDialect,
        wrong.map(([name, bad]) => `--${name}=${bad}`),
      ),
    );
    t.equal(messages.length, wrong.length);
    for (const [i, [name]] of wrong.entries()) t.match(messages[i], new RegExp(`for "(-., )?--${name}" flag: `), name);
  });

  t.test(`${daemon.name}: every number has a bound below, unless it is known to have none`, async (t) => {
    const unbounded: string[] = [];
    t.same(
      refused(() => daemon.validate(parse(daemon, orchDialect, daemon.needed ?? []) as never)),
      [],
    );
    for (const [name, { type }] of Object.entries(daemon.table(orchDialect))) {
      if (type !== 'int' && type !== 'float' && type !== 'duration') continue;
      const argv = [...(daemon.needed ?? []), `--${name}=${type === 'duration' ? '-1s' : '-1'}`];
      const messages = refused(() => daemon.validate(parse(daemon, orchDialect, argv) as never));
      if (messages.length === 0) unbounded.push(name);
    }
    t.same(
      unbounded.filter((name) => !daemon.negative.split(/\s+/).includes(name)),
      [],
    );
  });
}
