import t from 'tap';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { parseTracingConfig } from '#daemon/tracing/tracing-config.js';

const head = 'apiVersion: apiserver.config.k8s.io/v1alpha1\nkind: TracingConfiguration\n';

t.test('defaults are those of the release', async (t) => {
  t.same(parseTracingConfig(head, dialect), { endpoint: 'localhost:4317', samplingRatio: 0 });
  const betaHead = head.replace('v1alpha1', 'v1beta1');
  t.same(parseTracingConfig(`${betaHead}endpoint: dns:///collector:4317\nsamplingRatePerMillion: 500000\n`, dialect), {
    endpoint: 'dns:///collector:4317',
    samplingRatio: 0.5,
  });
});

t.test('errors name the field', async (t) => {
  for (const [text, says] of [
    ['', 'must be an object'],
    ['a: [', 'yaml: line 1: did not find expected node content'],
    ['kind: a\nkind: b', 'key "kind" already set in map'],
    [
      'kind: TracingConfiguration',
      'apiVersion must be "apiserver.config.k8s.io/v1alpha1" or "apiserver.config.k8s.io/v1beta1"',
    ],
    [`${head}endpont: x`, 'unknown field "endpont"'],
    [`${head}samplingRatePerMillion: -1`, 'samplingRatePerMillion: Invalid value: -1: sampling rate must be positive'],
    [`${head}samplingRatePerMillion: 1000001`, 'less than or equal to one million'],
    [`${head}samplingRatePerMillion: many`, 'samplingRatePerMillion'],
    [
      `${head}endpoint: https://collector:4317`,
      'endpoint: Invalid value: "https://collector:4317": unsupported scheme: https',
    ],
    [`${head}endpoint: //collector`, 'endpoint: Invalid value: "//collector": must be host:port'],
  ] as const) {
    t.throws(() => parseTracingConfig(text, dialect), { message: new RegExp(escaped(says)) }, text);
  }
});

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
