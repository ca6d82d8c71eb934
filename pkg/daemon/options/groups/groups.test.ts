import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { delegatedAuthOptions, delegatedAuthRules } from '#daemon/options/groups/authentication.js';
import { clientConnectionOptions } from '#daemon/options/groups/client-connection.js';
import { debuggingOptions } from '#daemon/options/groups/debugging.js';
import { FeatureGates, featureGateOptions, featureGateRules } from '#daemon/options/groups/feature-gates.js';
import { dialectArgument, genericOptions } from '#daemon/options/groups/generic.js';
import { leaderElectionOptions, leaderElectionRules } from '#daemon/options/groups/leader-election.js';
import { loggingOptions, loggingRules } from '#daemon/options/groups/logging.js';
import { metricsOptions, metricsRules } from '#daemon/options/groups/metrics.js';
import { servingOptions, servingRules } from '#daemon/options/groups/serving.js';
import { helpText } from '#daemon/options/help.js';
import { OptionsError, type OptionTable } from '#daemon/options/option.js';
import { parseOptions } from '#daemon/options/parse.js';
import { validateOptions } from '#daemon/options/validate.js';

const table = {
  ...genericOptions,
  ...servingOptions({ securePort: 10_257 }),
  ...delegatedAuthOptions({ tolerateLookupFailure: false }),
  ...leaderElectionOptions({
    resourceName: orchDialect.components.controllerManager,
    resourceNamespace: orchDialect.namespaces.system,
  }),
  ...clientConnectionOptions({ qps: 20, burst: 30, contentType: orchDialect.protobufMediaType }),
  ...debuggingOptions,
  ...loggingOptions,
  ...metricsOptions,
  ...featureGateOptions,
} as const satisfies OptionTable;

function violations(...argv: string[]): readonly string[] {
  const result = parseOptions(table, argv, { program: 'prog' });
  if (result.kind !== 'run') throw new Error(result.kind);
  try {
    validateOptions(result, [
      servingRules,
      delegatedAuthRules,
      leaderElectionRules('error creating lock'),
      loggingRules,
      metricsRules,
      featureGateRules,
    ]);
  } catch (error) {
    if (error instanceof OptionsError) return error.messages;
    throw error;
  }
  return [];
}

t.test('defaults are valid', async (t) => {
  t.same(violations(), []);
});

t.test('every violation is reported', async (t) => {
  t.same(
    violations(
      '--secure-port=70000',
      '--tls-cert-file=a.crt',
      '--leader-elect-lease-duration=10s',
      '--leader-elect-renew-deadline=12s',
      '--authorization-always-allow-paths=/a*b',
      '--show-hidden-metrics-for-version=1.20',
    ).length,
    4,
  );
  t.same(violations('--leader-elect=false', '--leader-elect-lease-duration=0s'), [], 'not validated when disabled');
});

t.test('help lists every option with type and default, by section', async (t) => {
  const text = helpText(table, { program: 'prog', description: 'Does things.' });
  for (const name of Object.keys(table)) t.match(text, `--${name}`, name);
  t.match(text, /Secure serving flags:\n\n {6}--bind-address string\n/);
  t.match(text, '(default "0.0.0.0")');
  t.match(text, '(default 15s)');
  t.match(text, /-v, --v int/);
  t.match(text, /-h, --help\n/);
  t.match(text, 'CPUManager (BETA, default=true)');
  for (const line of text.split('\n')) t.ok(line.length <= 100, line);
});

t.test('feature gates', async (t) => {
  t.equal(new FeatureGates().enabled('CPUManager'), true);
  t.equal(new FeatureGates().enabled('NodeSwap'), false);
  t.equal(new FeatureGates({ AllAlpha: true, NodeSwap: false }).enabled('NodeSwap'), false);
  t.equal(new FeatureGates({ AllAlpha: true }).enabled('MemoryQoS'), true);
  t.equal(new FeatureGates({ AllBeta: false }).enabled('CPUManager'), false);
  t.equal(new FeatureGates({ AllBeta: false }).enabled('NodeSwap'), false);
});

t.test('the dialect is read before the table is built', async (t) => {
  t.equal(dialectArgument([]), orchDialect.name);
  t.equal(dialectArgument(['--v=2', '--dialect', 'kubernetes']), kubernetesDialect.name);
  t.equal(dialectArgument(['--dialect=kubernetes']), kubernetesDialect.name);
});
