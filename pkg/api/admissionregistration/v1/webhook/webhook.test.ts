import t from 'tap';
import { mutatingWebhookConfigurationStrategy } from '#api/admissionregistration/v1/webhook/strategy.js';
import { created, createFailures, type Draft, testContext, updated, withField } from '#api/testing/strategy-table.js';

const webhook = {
  name: 'a.b.c',
  clientConfig: { service: { name: 's', namespace: 'ns' } },
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }],
};
const base: Draft = { metadata: { name: 'w', creationTimestamp: '2024-05-31T23:00:00Z' }, webhooks: [webhook] };
const w = 'webhooks[0]';

t.test('webhook configurations are validated as in 1.24', (t) => {
  const rows: [string, unknown, ...string[]][] = [
    [
      'webhooks.0.name',
      'a',
      `${w}.name: Invalid value: "a": should be a domain with at least three segments separated by dots`,
    ],
    ['webhooks.1', webhook, 'webhooks[1].name: Duplicate value: "a.b.c"'],
    ['webhooks.0.sideEffects', undefined, `${w}.sideEffects: Required value: must specify one of None, NoneOnDryRun`],
    [
      'webhooks.0.sideEffects',
      'Some',
      `${w}.sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"`,
    ],
    [
      'webhooks.0.admissionReviewVersions',
      [],
      `${w}.admissionReviewVersions: Required value: must specify one of v1, v1beta1`,
    ],
    [
      'webhooks.0.timeoutSeconds',
      31,
      `${w}.timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds`,
    ],
    ['webhooks.0.clientConfig', {}, `${w}.clientConfig: Required value: exactly one of url or service is required`],
    [
      'webhooks.0.clientConfig',
      { url: 'http://h/p' },
      `${w}.clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]`,
    ],
    ['webhooks.0.clientConfig', { url: 'https://h/p' }],
    [
      'webhooks.0.rules.0.operations',
      ['*', 'CREATE'],
      `${w}.rules[0].operations: Invalid value: []string{"*", "CREATE"}: if '*' is present, must not specify other operations`,
    ],
    [
      'webhooks.0.rules.0.operations',
      ['READ'],
      `${w}.rules[0].operations[0]: Unsupported value: "READ": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"`,
    ],
    ['webhooks.0.rules.0.resources', [], `${w}.rules[0].resources: Required value`],
    ['webhooks.0.failurePolicy', 'X', `${w}.failurePolicy: Unsupported value: "X": supported values: "Fail", "Ignore"`],
  ];
  const strategy = mutatingWebhookConfigurationStrategy;
  t.strictSame(createFailures(strategy, base), []);
  for (const [path, value, ...want] of rows)
    t.strictSame(createFailures(strategy, withField(base, path, value)), want, path);
  const old = created(strategy, base);
  t.match(old, {
    metadata: { generation: 1 },
    webhooks: [
      {
        failurePolicy: 'Fail',
        matchPolicy: 'Equivalent',
        timeoutSeconds: 10,
        reinvocationPolicy: 'Never',
        rules: [{ scope: '*' }],
        clientConfig: { service: { port: 443 } },
      },
    ],
  });
  t.equal(updated(strategy, withField(base, 'webhooks', []), old).metadata.generation, 2);
  t.strictSame(strategy.cells?.(old as never, testContext), ['w', 1, '60m']);
  t.end();
});
