import t from 'tap';
import type { ValidatingWebhook } from '#api/admissionregistration/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { compileConfiguration } from '#apiserver/admission/webhook/compiled-webhook.js';
import { lockouts } from '#apiserver/admission/webhook/lockout-warnings.js';

const rule = (resources: string[], more: object = {}) => ({
  operations: ['*'],
  apiGroups: ['*'],
  apiVersions: ['*'],
  resources,
  ...more,
});
const service = { namespace: 'hooks', name: 'checks' };
const own = /must allow the pods of its own service hooks\/checks: /;
const system = /must allow the pods of orch-system: /;
const nodes = /must allow nodes: /;
const leases = /must allow leases in orch-node-lease and orch-system: /;

const rows: [name: string, webhook: Partial<ValidatingWebhook>, warnings: RegExp[]][] = [
  ['everything', { rules: [rule(['*/*'])] }, [own, nodes, leases]],
  ['everything, ignored', { rules: [rule(['*/*'])], failurePolicy: 'Ignore' }, []],
  ['everything, by URL', { rules: [rule(['*'])], clientConfig: { url: 'https://a/' } }, [system, nodes, leases]],
  ['other kinds', { rules: [rule(['deployments'])] }, []],
  ['its pods', { rules: [rule(['pods'])] }, [own]],
  ['its pods when they go', { rules: [rule(['pods'], { operations: ['DELETE'] })] }, []],
  ['what is below pods', { rules: [rule(['pods/status'])] }, []],
  ['pods of another version', { rules: [rule(['pods'], { apiVersions: ['v2'] })] }, []],
  [
    'not its own namespace',
    {
      rules: [rule(['pods'])],
      namespaceSelector: { matchExpressions: [{ key: 'orch.io/metadata.name', operator: 'NotIn', values: ['hooks'] }] },
    },
    [system],
  ],
  [
    'a label of its own namespace',
    { rules: [rule(['pods'])], namespaceSelector: { matchLabels: { team: 'hooks' } } },
    [own],
  ],
  [
    'not its own pods',
    {
      rules: [rule(['pods'])],
      objectSelector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['checks'] }] },
    },
    [system],
  ],
  ['pods that ask for it', { rules: [rule(['pods'])], objectSelector: { matchLabels: { hooked: 'yes' } } }, []],
  ['cluster-wide', { rules: [rule(['*'], { scope: 'Cluster' })] }, [nodes]],
  ['leases', { rules: [rule(['leases'], { apiGroups: ['coordination.orch.io'] })] }, [leases]],
  [
    'configurations',
    {
      rules: [rule(['validatingwebhookconfigurations'], { apiGroups: ['admissionregistration.orch.io'] })],
      failurePolicy: 'Ignore',
    },
    [/names webhook configurations: no webhook is asked about these$/],
  ],
];

t.test('webhooks that could lock up a cluster cause warnings', async (t) => {
  for (const [name, more, expected] of rows) {
    const base = { name: 'a.b.test', clientConfig: { service }, sideEffects: 'None', admissionReviewVersions: ['v1'] };
    const [webhook] = compileConfiguration({ metadata: {}, webhooks: [{ ...base, ...more }] });
    const warnings = lockouts(webhook as NonNullable<typeof webhook>, {
      dialect,
      namespace: (at) => ({ 'orch.io/metadata.name': at, ...(at === 'hooks' ? { team: 'hooks' } : {}) }),
      servicePods: () => ({ app: 'checks' }),
    });
    t.equal(warnings.length, expected.length, `${name}: ${warnings.join('; ')}`);
    t.match(warnings, expected, name);
  }
});
