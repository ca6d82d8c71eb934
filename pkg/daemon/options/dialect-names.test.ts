import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { productOption, withDialectNames, withShownNames, withSpelledOptions } from '#daemon/options/dialect-names.js';
import { helpText } from '#daemon/options/help.js';
import type { OptionTable } from '#daemon/options/option.js';
import { parseOptions } from '#daemon/options/parse.js';

t.test('names in both dialects', async (t) => {
  const rows: [string, string][] = [
    ['orch-api-qps', 'kube-api-qps'],
    ['nodeagent-timeout', 'kubelet-timeout'],
    ['cluster-signing-nodeagent-client-key-file', 'cluster-signing-kubelet-client-key-file'],
    ['authorization-orchconfig', 'authorization-kubeconfig'],
    ['orchconfig', 'kubeconfig'],
    ['secure-port', 'secure-port'],
  ];
  for (const [name, spelled] of rows) {
    t.equal(productOption(kubernetesDialect, name), spelled);
    t.equal(productOption(orchDialect, name), name);
  }
});

const table = {
  'orch-api-qps': { type: 'float', default: 5, section: 'A', meaning: 'A rate.' },
  orchconfig: { type: 'string', section: 'A', meaning: 'A file.' },
  port: { type: 'int', section: 'A', meaning: 'A port.' },
} as const satisfies OptionTable;

t.test('both names set the same value', async (t) => {
  const named = withDialectNames(table, kubernetesDialect);
  for (const argv of [['--kube-api-qps=7'], ['--kube_api_qps', '7'], ['--orch-api-qps=7']]) {
    const parsed = parseOptions(named, argv, { program: 'p' });
    if (parsed.kind !== 'run') throw new Error(parsed.kind);
    t.equal(parsed.values['orch-api-qps'], 7);
    t.same([...parsed.given], ['orch-api-qps']);
  }
  t.match(helpText(named, { program: 'p', description: 'd' }), 'Also: --kube-api-qps.');
  t.throws(() => parseOptions(named, ['--kube-api-qs=7'], { program: 'p' }), /did you mean --kube-api-qps/);
});

t.test('the table of its own dialect is unchanged', async (t) => {
  t.same(withDialectNames(table, orchDialect), table);
  t.throws(() => parseOptions(table, ['--kube-api-qps=7'], { program: 'p' }), /unknown flag/);
});

t.test('an existing name gets no alias', async (t) => {
  const both = { ...table, kubeconfig: { type: 'string', section: 'A', meaning: 'Another file.' } } as const;
  const named: OptionTable = withDialectNames(both, kubernetesDialect);
  t.equal(named['orchconfig']?.aliases, undefined);
});

t.test('texts use the option names of the dialect', async (t) => {
  const text = 'Flag --orch-api-qps and --nodeagent-port=1, not --nothing or --authorization-mode';
  const section = 'Test';
  const declared = (type: 'string' | 'int') => ({ type, section, meaning: 'For the test.' });
  const table = {
    'orch-api-qps': declared('int'),
    'nodeagent-port': declared('int'),
    'authorization-mode': declared('string'),
  };
  t.equal(withSpelledOptions(text, withDialectNames(table, orchDialect), orchDialect), text);
  t.equal(
    withSpelledOptions(text, withDialectNames(table, kubernetesDialect), kubernetesDialect),
    'Flag --kube-api-qps and --kubelet-port=1, not --nothing or --authorization-mode',
  );
  const shown = withShownNames(withDialectNames(table, kubernetesDialect), kubernetesDialect);
  t.same(Object.keys(shown), ['kube-api-qps', 'kubelet-port', 'authorization-mode']);
});
