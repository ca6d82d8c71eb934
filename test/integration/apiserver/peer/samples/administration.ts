import type { Dialect } from '#apimachinery/dialect.js';
import type { Sample } from '#test/integration/apiserver/peer/samples/sample.js';

const labelled = { metadata: { labels: { app: 'example' } } };

/** A request of O=dev, CN=jane, as clients send it: PEM in base64. */
const certificateRequest =
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIWU1IOENBUUF3SFRFTU1Bb0dBMVVFQ2d3RFpHVjJNUTB3Q3dZ' +
  'RFZRUUREQVJxWVc1bE1Ga3dFd1lIS29aSQp6ajBDQVFZSUtvWkl6ajBEQVFjRFFnQUVCWU1CSjVFU3pyV1hPRE5MbXlleGtnNHFq' +
  'RWFJWFVvTWc1U3hkR3JLClFtSTRZN1dJd0JnVDR3TUZFY2hxeUdsVDZwaEt0ZmsyNk04NFpsYjhhYnJBMzZBQU1Bb0dDQ3FHU000' +
  'OUJBTUMKQTBrQU1FWUNJUUNTSUlGTElnZDhOQk5STndOd0hTcG5BakRBeXBxdTdRRzM0aXUrelRmQWJRSWhBS2w4dXNYcwp6NGNV' +
  'V0JuWnZaTXJHZzREV1dnSUk3TTE3RE9SRStOMlRhYjAKLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==';

/** Applies to no request: its address is never contacted. */
const smallWebhook = {
  name: 'check.example.com',
  clientConfig: { url: 'https://example.com/check' },
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
};
const webhook = {
  ...smallWebhook,
  rules: [
    { apiGroups: ['shop.example.com'], apiVersions: ['v1'], resources: ['orders'], operations: ['CREATE'], scope: '*' },
  ],
  failurePolicy: 'Ignore',
  timeoutSeconds: 5,
  namespaceSelector: { matchLabels: { shop: 'yes' } },
};
const flowRules = [
  {
    subjects: [{ kind: 'User', user: { name: 'jane' } }],
    resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['*'] }],
    nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz'] }],
  },
];
const limited = {
  assuredConcurrencyShares: 20,
  limitResponse: { type: 'Queue', queuing: { queues: 8, handSize: 2, queueLengthLimit: 10 } },
};
const rules = [
  { apiGroups: ['', 'apps'], resources: ['pods', 'deployments'], verbs: ['get', 'list'], resourceNames: ['one'] },
  { apiGroups: ['apps'], resources: ['*'], verbs: ['*'] },
];
const subjects = (dialect: Dialect) => [
  { kind: 'User', name: 'jane', apiGroup: dialect.groupName('rbac') },
  { kind: 'ServiceAccount', name: 'robot', namespace: 'default' },
];
const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      required: ['size'],
      properties: {
        size: { type: 'integer', minimum: 1, maximum: 10, default: 3 },
        color: { type: 'string', enum: ['red', 'blue'] },
      },
    },
    status: { type: 'object', properties: { phase: { type: 'string' } } },
  },
};
const definition = (name: string, version: object) => ({
  metadata: { name: `${name}s.peer.example.com` },
  spec: {
    group: 'peer.example.com',
    names: { plural: `${name}s`, kind: `K${name}` },
    scope: 'Namespaced',
    versions: [{ name: 'v1', served: true, storage: true, ...version }],
  },
});

export const administrationSamples: readonly Sample[] = [
  ...['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'].map((resource) => ({
    file: `admissionregistration.v1.${resource}`,
    serial: true,
    sizes: [() => ({ webhooks: [smallWebhook] }), () => ({ ...labelled, webhooks: [webhook] })],
  })),
  {
    file: 'apiextensions.v1.customresourcedefinitions',
    serial: true,
    sharedWithServer: true,
    sizes: [
      (_, name) => definition(name, { schema: { openAPIV3Schema: { type: 'object' } } }),
      (_, name) =>
        definition(name, {
          schema: { openAPIV3Schema: schema },
          subresources: { status: {}, scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' } },
          additionalPrinterColumns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }],
        }),
    ],
  },
  {
    file: 'apiregistration.v1.apiservices',
    serial: true,
    sharedWithServer: true,
    sizes: [0, 1].map((size) => (_: Dialect, name: string) => ({
      metadata: { name: `v1.${name}.example.com` },
      spec: {
        group: `${name}.example.com`,
        version: 'v1',
        service: { name: 'example', namespace: 'default', ...(size === 1 && { port: 8443 }) },
        insecureSkipTLSVerify: true,
        groupPriorityMinimum: 1000,
        versionPriority: 15,
      },
    })),
  },
  {
    file: 'certificates.v1.certificatesigningrequests',
    sizes: [0, 1].map((size) => (dialect: Dialect) => ({
      spec: {
        request: certificateRequest,
        signerName: size === 0 ? 'example.com/signer' : dialect.signers.apiServerClient,
        usages: ['client auth', ...(size === 1 ? ['digital signature'] : [])],
        ...(size === 1 && { expirationSeconds: 3600 }),
      },
    })),
  },
  ...['v1beta1', 'v1beta2'].flatMap((version) => [
    {
      file: `flowcontrol.${version}.flowschemas`,
      serial: true,
      sharedWithServer: true,
      sizes: [
        () => ({ spec: { priorityLevelConfiguration: { name: 'global-default' } } }),
        () => ({
          spec: {
            priorityLevelConfiguration: { name: 'global-default' },
            matchingPrecedence: 900,
            distinguisherMethod: { type: 'ByUser' },
            rules: flowRules,
          },
        }),
      ],
    },
    {
      file: `flowcontrol.${version}.prioritylevelconfigurations`,
      serial: true,
      sharedWithServer: true,
      sizes: [
        () => ({ spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } } }),
        () => ({ ...labelled, spec: { type: 'Limited', limited } }),
      ],
    },
  ]),
  ...['rbac.v1.clusterroles', 'rbac.v1.roles'].map((file) => ({
    file,
    sizes: [() => ({ rules: null }), () => ({ ...labelled, rules })],
  })),
  ...(
    [
      ['rbac.v1.clusterrolebindings', 'ClusterRole', 'view'],
      ['rbac.v1.rolebindings', 'Role', 'example'],
    ] as const
  ).map(([file, kind, name]) => ({
    file,
    sizes: [
      (dialect: Dialect) => ({ roleRef: { apiGroup: dialect.groupName('rbac'), kind, name } }),
      (dialect: Dialect) => ({
        ...labelled,
        roleRef: { apiGroup: dialect.groupName('rbac'), kind, name },
        subjects: subjects(dialect),
      }),
    ],
  })),
];
