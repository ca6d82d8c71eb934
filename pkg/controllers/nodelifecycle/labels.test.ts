import t from 'tap';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { missingLabels } from '#controllers/nodelifecycle/labels.js';

t.test('beta labels follow the stable ones', async (t) => {
  const rows: [labels: Record<string, string>, expected: Record<string, string>][] = [
    [{}, {}],
    [{ 'kubernetes.io/os': 'linux' }, { 'beta.kubernetes.io/os': 'linux' }],
    [{ 'kubernetes.io/arch': 'arm64', 'beta.kubernetes.io/arch': 'amd64' }, { 'beta.kubernetes.io/arch': 'arm64' }],
    [{ 'kubernetes.io/arch': 'arm64', 'beta.kubernetes.io/arch': 'arm64' }, {}],
    [{ 'beta.kubernetes.io/os': 'linux' }, {}],
  ];
  for (const [labels, expected] of rows)
    t.same(missingLabels(kubernetesDialect, { metadata: { name: 'n', labels }, spec: {} }), expected);
});
