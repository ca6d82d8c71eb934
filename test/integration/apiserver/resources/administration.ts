import {
  mutatingwebhookconfigurations,
  validatingwebhookconfigurations,
} from '#api/admissionregistration/v1/resources.gen.js';
import { customresourcedefinitions } from '#api/apiextensions/v1/resources.gen.js';
import { apiservices } from '#api/apiregistration/v1/resources.gen.js';
import { storageversions } from '#api/apiserverinternal/v1alpha1/resources.gen.js';
import { certificatesigningrequests } from '#api/certificates/v1/resources.gen.js';
import { flowschemas, prioritylevelconfigurations } from '#api/flowcontrol/v1beta2/resources.gen.js';
import { clusterrolebindings, clusterroles, rolebindings, roles } from '#api/rbac/v1/resources.gen.js';
import { type AnyCase, resourceCase } from '#test/integration/apiserver/resources/resource-case.js';

const metadata = { name: 'example' };

/** A request of O=dev, CN=jane, as clients send it: PEM in base64. */
const certificateRequest =
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIWU1IOENBUUF3SFRFTU1Bb0dBMVVFQ2d3RFpHVjJNUTB3Q3dZ' +
  'RFZRUUREQVJxWVc1bE1Ga3dFd1lIS29aSQp6ajBDQVFZSUtvWkl6ajBEQVFjRFFnQUVCWU1CSjVFU3pyV1hPRE5MbXlleGtnNHFq' +
  'RWFJWFVvTWc1U3hkR3JLClFtSTRZN1dJd0JnVDR3TUZFY2hxeUdsVDZwaEt0ZmsyNk04NFpsYjhhYnJBMzZBQU1Bb0dDQ3FHU000' +
  'OUJBTUMKQTBrQU1FWUNJUUNTSUlGTElnZDhOQk5STndOd0hTcG5BakRBeXBxdTdRRzM0aXUrelRmQWJRSWhBS2w4dXNYcwp6NGNV' +
  'V0JuWnZaTXJHZzREV1dnSUk3TTE3RE9SRStOMlRhYjAKLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==';

/** Applies to no request, so its address is never contacted. */
const webhook = {
  name: 'check.example.com',
  clientConfig: { url: 'https://example.com/check' },
  rules: [{ apiGroups: ['shop.example.com'], apiVersions: ['v1'], resources: ['orders'], operations: ['CREATE'] }],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
};
const webhookDefaults = {
  'webhooks.0.failurePolicy': 'Fail',
  'webhooks.0.matchPolicy': 'Equivalent',
  'webhooks.0.timeoutSeconds': 10,
  'webhooks.0.namespaceSelector': {},
  'webhooks.0.objectSelector': {},
  'webhooks.0.rules.0.scope': '*',
};
const badWebhook = {
  change: { 'webhooks.0.sideEffects': 'Some', 'webhooks.0.timeoutSeconds': 31 },
  causes: ['webhooks[0].sideEffects', 'webhooks[0].timeoutSeconds'],
};
const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }];
const subjects = [{ kind: 'User', name: 'jane' }];

export const administrationCases: readonly AnyCase[] = [
  resourceCase({
    resource: mutatingwebhookconfigurations,
    example: () => ({ metadata, webhooks: [webhook] }),
    defaults: { ...webhookDefaults, 'webhooks.0.reinvocationPolicy': 'Never' },
    invalid: badWebhook,
    cells: { Webhooks: 1 },
  }),
  resourceCase({
    resource: validatingwebhookconfigurations,
    example: () => ({ metadata, webhooks: [webhook] }),
    defaults: webhookDefaults,
    invalid: badWebhook,
    cells: { Webhooks: 1 },
  }),
  resourceCase({
    resource: customresourcedefinitions,
    example: () => ({
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        names: { plural: 'widgets', kind: 'Widget' },
        scope: 'Namespaced',
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      },
    }),
    defaults: {
      'spec.names.singular': 'widget',
      'spec.names.listKind': 'WidgetList',
      'spec.conversion.strategy': 'None',
    },
    invalid: {
      change: { 'spec.scope': 'Galaxy', 'metadata.name': 'other.example.com' },
      causes: ['metadata.name', 'spec.scope'],
    },
  }),
  resourceCase({
    resource: apiservices,
    example: () => ({
      metadata: { name: 'v1.example.com' },
      spec: {
        group: 'example.com',
        version: 'v1',
        service: { name: 'example', namespace: 'default' },
        insecureSkipTLSVerify: true,
        groupPriorityMinimum: 1000,
        versionPriority: 15,
      },
    }),
    defaults: { 'spec.service.port': 443 },
    invalid: {
      change: { 'metadata.name': 'v2.example.com', 'spec.versionPriority': 0 },
      causes: ['metadata.name', 'spec.versionPriority'],
    },
    cells: { Service: 'default/example' },
  }),
  resourceCase({
    resource: certificatesigningrequests,
    example: (dialect) => ({
      metadata,
      spec: {
        request: certificateRequest,
        signerName: dialect.signers.apiServerClient,
        usages: ['client auth'],
      },
    }),
    defaults: {},
    invalid: {
      change: { 'spec.usages': ['anything'], 'spec.request': 'bm90IFBFTQ==' },
      causes: ['spec.request', 'spec.usages[0]'],
    },
    cells: { Condition: 'Pending' },
  }),
  resourceCase({
    resource: flowschemas,
    example: () => ({
      metadata,
      spec: {
        priorityLevelConfiguration: { name: 'global-default' },
        rules: [
          {
            subjects: [{ kind: 'User', user: { name: 'jane' } }],
            resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['*'] }],
          },
        ],
      },
    }),
    defaults: { 'spec.matchingPrecedence': 1000 },
    invalid: {
      change: { 'spec.matchingPrecedence': 10_001, 'spec.priorityLevelConfiguration.name': '' },
      causes: ['spec.matchingPrecedence', 'spec.priorityLevelConfiguration.name'],
    },
    cells: { PriorityLevel: 'global-default', MatchingPrecedence: 1000, DistinguisherMethod: '<none>' },
  }),
  resourceCase({
    resource: prioritylevelconfigurations,
    example: () => ({ metadata, spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } } }),
    defaults: { 'spec.limited.assuredConcurrencyShares': 30 },
    invalid: {
      change: { 'spec.limited.assuredConcurrencyShares': -1 },
      causes: ['spec.limited.assuredConcurrencyShares'],
    },
    cells: { Type: 'Limited', AssuredConcurrencyShares: 30, Queues: '<none>' },
  }),
  resourceCase({
    resource: clusterrolebindings,
    example: (dialect) => ({
      metadata,
      roleRef: { apiGroup: dialect.groupName('rbac'), kind: 'ClusterRole', name: 'view' },
      subjects,
    }),
    defaults: (dialect) => ({ 'subjects.0.apiGroup': dialect.groupName('rbac') }),
    invalid: { change: { 'roleRef.kind': 'Role' }, causes: ['roleRef.kind'] },
    cells: { Role: 'ClusterRole/view', Users: 'jane', Groups: '' },
  }),
  resourceCase({
    resource: clusterroles,
    example: () => ({ metadata, rules }),
    defaults: {},
    invalid: { change: { 'rules.0.verbs': [] }, causes: ['rules[0].verbs'] },
  }),
  resourceCase({
    resource: rolebindings,
    example: (dialect) => ({
      metadata,
      roleRef: { apiGroup: dialect.groupName('rbac'), kind: 'Role', name: 'example' },
      subjects,
    }),
    defaults: (dialect) => ({ 'subjects.0.apiGroup': dialect.groupName('rbac') }),
    invalid: { change: { 'subjects.0.kind': 'Robot' }, causes: ['subjects[0].kind'] },
    cells: { Role: 'Role/example', Users: 'jane' },
  }),
  resourceCase({
    resource: roles,
    example: () => ({ metadata, rules }),
    defaults: {},
    invalid: { change: { 'rules.0.nonResourceURLs': ['/x'] }, causes: ['rules[0].nonResourceURLs'] },
  }),
  resourceCase({
    resource: storageversions,
    example: () => ({ metadata: { name: 'apps.deployments' }, spec: {}, status: {} }),
    defaults: {},
    invalid: { change: { 'metadata.name': 'deployments' }, causes: ['metadata.name'] },
    cells: { CommonEncodingVersion: '<unset>' },
  }),
];
