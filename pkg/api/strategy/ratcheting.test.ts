/** Violations in a stored object are tolerated where 1.24 does so, and unrelated updates pass. */
import t from 'tap';
import { validatingWebhookConfigurationStrategy } from '#api/admissionregistration/v1/webhook/strategy.js';
import { customResourceDefinitionStrategy } from '#api/apiextensions/v1/customresourcedefinition/strategy.js';
import { cronJobStrategy } from '#api/batch/v1/cronjob/strategy.js';
import { certificateSigningRequestStrategy } from '#api/certificates/v1/certificatesigningrequest/strategy.js';
import { ingressStrategy } from '#api/networking/v1/ingress/strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { created, type Draft, testContext, updateFailures, withField } from '#api/testing/strategy-table.js';

const metadata = { name: 'a', namespace: 'ns' };
const labels = { a: 'b' };

/** A stored object with a violation accepts changes of labels; a valid object must not get the violation. */
function tolerates(
  strategy: Strategy,
  { broken, good, failure }: { readonly broken: Draft; readonly good: Draft; readonly failure: RegExp },
): void {
  const old = created(strategy, broken) as unknown as Draft;
  t.strictSame(updateFailures(strategy, broken, withField(old, 'metadata.labels', labels)), [], `keeps ${failure}`);
  const stored = created(strategy, good) as unknown as Draft;
  const worse = { ...structuredClone(old), metadata: stored['metadata'] };
  t.match(updateFailures(strategy, good, worse), [failure], `refuses ${failure}`);
}

const webhook = {
  name: 'a.b.c',
  clientConfig: { url: 'https://h' },
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }],
};
const hooks = (...webhooks: object[]): Draft => ({ metadata: { name: 'a' }, webhooks });
for (const [broken, failure] of [
  [hooks({ ...webhook, sideEffects: 'Some' }), /sideEffects: Unsupported/],
  [hooks({ ...webhook, admissionReviewVersions: ['v2'] }), /admissionReviewVersions: .*must include/],
  [hooks(webhook, webhook), /webhooks\[1\].name: Duplicate/],
] as const) {
  tolerates(validatingWebhookConfigurationStrategy as Strategy, { broken, good: hooks(webhook), failure });
}

const backend = { service: { name: 's', port: { number: 80 } } };
const ingress = (host: string, path: string, more: object = {}): Draft => ({
  metadata,
  spec: { rules: [{ host, http: { paths: [{ path, pathType: 'Prefix', backend }] } }], ...more },
});
tolerates(ingressStrategy as Strategy, {
  broken: ingress('*.a.b', 'x'),
  good: ingress('*.a.b', '/x'),
  failure: /paths\[0\].path: .*absolute/,
});
tolerates(ingressStrategy as Strategy, {
  broken: ingress('a.b', '/', { tls: [{ secretName: 'A_B' }] }),
  good: ingress('a.b', '/'),
  failure: /tls\[0\].secretName/,
});

t.test('a stored ingress may keep both ways to name its class', (t) => {
  const twice = withField(ingress('a.b', '/', { ingressClassName: 'x' }), 'metadata.annotations', {
    'orch.io/ingress.class': 'x',
  });
  const object = created(ingressStrategy as Strategy, twice);
  const failures = ingressStrategy.validateCreate?.(object as never, testContext) ?? [];
  t.match(failures, [{ field: 'annotations.orch.io/ingress.class', message: /can not be set when the class field/ }]);
  t.strictSame(updateFailures(ingressStrategy as Strategy, twice, twice), []);
  t.end();
});

t.test('the length of cron job names is checked on create only', (t) => {
  const pod = { containers: [{ name: 'c', image: 'i' }], restartPolicy: 'Never' };
  const cron: Draft = {
    metadata: { ...metadata, name: 'x'.repeat(60) },
    spec: { schedule: '@daily', jobTemplate: { spec: { template: { spec: pod } } } },
  };
  t.strictSame(updateFailures(cronJobStrategy as Strategy, cron, cron), []);
  t.end();
});

t.test('certificate requests keep tolerated violations', (t) => {
  const request: Draft = {
    metadata: { name: 'a' },
    spec: { request: 'QQ==', signerName: 'orch.io/legacy-unknown', usages: ['any', 'any', 'flying'] },
  };
  t.strictSame(updateFailures(certificateSigningRequestStrategy as Strategy, request, request), []);
  t.end();
});

t.test('definitions in protected groups keep their approval state', (t) => {
  const strategy = customResourceDefinitionStrategy as unknown as Strategy;
  const definition: Draft = {
    metadata: { name: 'widgets.a.orch.io' },
    spec: {
      group: 'a.orch.io',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  };
  const key = 'api-approved.orch.io';
  const annotated = (value: string) => withField(definition, 'metadata.annotations', { [key]: value });
  t.strictSame(updateFailures(strategy, definition, definition), []);
  t.strictSame(updateFailures(strategy, definition, annotated('https://a.b/1')), []);
  t.match(updateFailures(strategy, annotated('https://a.b/1'), definition), [/Required value: protected groups must/]);
  t.match(updateFailures(strategy, definition, annotated('yes')), [/Invalid value: "yes": protected groups must/]);
  t.strictSame(updateFailures(strategy, annotated('yes'), annotated('no')), []);
  t.end();
});
