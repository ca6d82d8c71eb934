import t from 'tap';
import {
  mutatingWebhookConfigurationStrategy,
  validatingWebhookConfigurationStrategy,
} from '#api/admissionregistration/v1/webhook/strategy.js';
import { checkRules, checkUpdateRules, type RuleRow } from '#api/testing/rule-table.js';
import type { Draft } from '#api/testing/strategy-table.js';

const rule = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] };
const webhook = {
  name: 'a.b.c',
  clientConfig: { service: { name: 's', namespace: 'ns' } },
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  rules: [rule],
};
const base: Draft = { metadata: { name: 'w' }, webhooks: [webhook] };

/** Rules of both kinds. */
const create: RuleRow[] = [
  [
    'metadata.name',
    'A',
    `metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
  ],
  ['webhooks', [{ ...webhook, name: undefined }], 'webhooks[0].name: Required value'],
  [
    'webhooks',
    [{ ...webhook, name: 'A.b.c' }],
    `webhooks[0].name: Invalid value: "A.b.c": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
  ],
  [
    'webhooks',
    [{ ...webhook, name: 'a.b' }],
    'webhooks[0].name: Invalid value: "a.b": should be a domain with at least three segments separated by dots',
  ],
  ['webhooks', [webhook, webhook], 'webhooks[1].name: Duplicate value: "a.b.c"'],
  ['webhooks', []],
  [
    'webhooks',
    [{ ...webhook, failurePolicy: 'Other' }],
    'webhooks[0].failurePolicy: Unsupported value: "Other": supported values: "Fail", "Ignore"',
  ],
  ['webhooks', [{ ...webhook, failurePolicy: 'Ignore' }]],
  [
    'webhooks',
    [{ ...webhook, matchPolicy: 'Other' }],
    'webhooks[0].matchPolicy: Unsupported value: "Other": supported values: "Equivalent", "Exact"',
  ],
  [
    'webhooks',
    [{ ...webhook, sideEffects: undefined }],
    'webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun',
  ],
  [
    'webhooks',
    [{ ...webhook, sideEffects: 'Some' }],
    'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
  ],
  ['webhooks', [{ ...webhook, sideEffects: 'NoneOnDryRun' }]],
  [
    'webhooks',
    [{ ...webhook, timeoutSeconds: 0 }],
    'webhooks[0].timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds',
  ],
  [
    'webhooks',
    [{ ...webhook, timeoutSeconds: 31 }],
    'webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds',
  ],
  ['webhooks', [{ ...webhook, timeoutSeconds: 30 }]],
  [
    'webhooks',
    [{ ...webhook, namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'Is' }] } }],
    'webhooks[0].namespaceSelector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
  ],
  [
    'webhooks',
    [{ ...webhook, objectSelector: { matchLabels: { 'a b': 'c' } } }],
    `webhooks[0].objectSelector.matchLabels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
  ],
  [
    'webhooks',
    [{ ...webhook, admissionReviewVersions: [] }],
    'webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1',
  ],
  [
    'webhooks',
    [{ ...webhook, admissionReviewVersions: ['v1', 'v1'] }],
    'webhooks[0].admissionReviewVersions[1]: Invalid value: "v1": duplicate version',
  ],
  [
    'webhooks',
    [{ ...webhook, admissionReviewVersions: ['V1', 'v1'] }],
    `webhooks[0].admissionReviewVersions[0]: Invalid value: "V1": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
  ],
  [
    'webhooks',
    [{ ...webhook, admissionReviewVersions: ['v2'] }],
    'webhooks[0].admissionReviewVersions: Invalid value: []string{"v2"}: must include at least one of v1, v1beta1',
  ],
  ['webhooks', [{ ...webhook, admissionReviewVersions: ['v1beta1', 'v2'] }]],
  [
    'webhooks',
    [{ ...webhook, rules: [{ ...rule, operations: [] }] }],
    'webhooks[0].rules[0].operations: Required value',
  ],
  [
    'webhooks',
    [{ ...webhook, rules: [{ ...rule, operations: ['*', 'CREATE'] }] }],
    `webhooks[0].rules[0].operations: Invalid value: []string{"*", "CREATE"}: if '*' is present, must not specify other operations`,
  ],
  [
    'webhooks',
    [{ ...webhook, rules: [{ ...rule, operations: ['READ'] }] }],
    'webhooks[0].rules[0].operations[0]: Unsupported value: "READ": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
  ],
  ['webhooks', [{ ...webhook, rules: [{ ...rule, operations: ['*'] }] }]],
  ['webhooks', [{ ...webhook, rules: [{ ...rule, apiGroups: [] }] }], 'webhooks[0].rules[0].apiGroups: Required value'],
  [
    'webhooks',
    [{ ...webhook, rules: [{ ...rule, apiGroups: ['*', 'a'] }] }],
    `webhooks[0].rules[0].apiGroups: Invalid value: []string{"*", "a"}: if '*' is present, must not specify other API groups`,
  ],
  [
    'webhooks',
    [{ ...webhook, rules: [{ ...rule, apiVersions: [] }] }],
    'webhooks[0].rules[0].apiVersions: Required value',
  ],
  [
    'webhooks',
    [{ ...webhook, rules: [{ ...rule, apiVersions: ['*', 'v1'] }] }],
    `webhooks[0].rules[0].apiVersions: Invalid value: []string{"*", "v1"}: if '*' is present, must not specify other API versions`,
  ],
  [
    'webhooks',
    [{ ...webhook, rules: [{ ...rule, apiVersions: [''] }] }],
    'webhooks[0].rules[0].apiVersions[0]: Required value',
  ],
  [
    'webhooks',
    [{ ...webhook, rules: [{ ...rule, scope: 'Other' }] }],
    'webhooks[0].rules[0].scope: Unsupported value: "Other": supported values: "*", "Cluster", "Namespaced"',
  ],
  ['webhooks', [{ ...webhook, rules: [{ ...rule, scope: 'Cluster' }] }]],
  ['webhooks', [{ ...webhook, rules: [{ ...rule, resources: [] }] }], 'webhooks[0].rules[0].resources: Required value'],
  [
    'webhooks',
    [{ ...webhook, rules: [{ ...rule, resources: [''] }] }],
    'webhooks[0].rules[0].resources[0]: Required value',
  ],
  ['webhooks', [{ ...webhook, rules: [{ ...rule, resources: ['*/*'] }] }]],
  [
    'webhooks',
    [{ ...webhook, rules: [{ ...rule, resources: ['*/*', 'pods'] }] }],
    `webhooks[0].rules[0].resources: Invalid value: []string{"*/*", "pods"}: if '*/*' is present, must not specify other resources`,
  ],
  [
    'webhooks',
    [{ ...webhook, rules: [{ ...rule, resources: ['*', 'pods'] }] }],
    `webhooks[0].rules[0].resources: Invalid value: []string{"*", "pods"}: if '*' is present, must not specify other resources without subresources`,
  ],
  ['webhooks', [{ ...webhook, rules: [{ ...rule, resources: ['*', 'pods/status'] }] }]],
  [
    'webhooks',
    [{ ...webhook, rules: [{ ...rule, resources: ['pods/*', 'pods/status'] }] }],
    `webhooks[0].rules[0].resources[1]: Invalid value: "pods/status": if 'pods/*' is present, must not specify pods/status`,
  ],
  [
    'webhooks',
    [{ ...webhook, rules: [{ ...rule, resources: ['*/scale', 'deployments/scale'] }] }],
    `webhooks[0].rules[0].resources[1]: Invalid value: "deployments/scale": if '*/scale' is present, must not specify deployments/scale`,
  ],
  ['webhooks', [{ ...webhook, rules: [{ ...rule, resources: ['pods', 'pods/status'] }] }]],
  [
    'webhooks',
    [{ ...webhook, clientConfig: {} }],
    'webhooks[0].clientConfig: Required value: exactly one of url or service is required',
  ],
  [
    'webhooks',
    [{ ...webhook, clientConfig: { url: 'https://h', service: { name: 's', namespace: 'ns' } } }],
    'webhooks[0].clientConfig: Required value: exactly one of url or service is required',
  ],
  ['webhooks', [{ ...webhook, clientConfig: { url: 'https://h/p' } }]],
  ['webhooks', [{ ...webhook, clientConfig: { url: 'https://h:8443' } }]],
  [
    'webhooks',
    [{ ...webhook, clientConfig: { url: 'http://h' } }],
    `webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]`,
  ],
  [
    'webhooks',
    [{ ...webhook, clientConfig: { url: 'h' } }],
    `webhooks[0].clientConfig.url: Invalid value: "": 'https' is the only allowed URL scheme; desired format: https://host[/path]`,
    'webhooks[0].clientConfig.url: Invalid value: "": host must be provided; desired format: https://host[/path]',
  ],
  [
    'webhooks',
    [{ ...webhook, clientConfig: { url: 'https://' } }],
    'webhooks[0].clientConfig.url: Invalid value: "": host must be provided; desired format: https://host[/path]',
  ],
  [
    'webhooks',
    [{ ...webhook, clientConfig: { url: 'https://u:p@h' } }],
    'webhooks[0].clientConfig.url: Invalid value: "u:p": user information is not permitted in the URL',
  ],
  [
    'webhooks',
    [{ ...webhook, clientConfig: { url: 'https://h?q=1' } }],
    'webhooks[0].clientConfig.url: Invalid value: "q=1": query parameters are not permitted in the URL',
  ],
  [
    'webhooks',
    [{ ...webhook, clientConfig: { url: 'https://h#f' } }],
    'webhooks[0].clientConfig.url: Invalid value: "f": fragments are not permitted in the URL',
  ],
  [
    'webhooks',
    [{ ...webhook, clientConfig: { url: 'https://h/%zz' } }],
    'webhooks[0].clientConfig.url: Required value: url must be a valid URL: "https://h/%zz" cannot be parsed; desired format: https://host[/path]',
  ],
  [
    'webhooks',
    [{ ...webhook, clientConfig: { service: { namespace: 'ns' } } }],
    'webhooks[0].clientConfig.service.namespace: Required value: service namespace is required',
  ],
  [
    'webhooks',
    [{ ...webhook, clientConfig: { service: { name: 's' } } }],
    'webhooks[0].clientConfig.service.name: Required value: service name is required',
  ],
  [
    'webhooks',
    [{ ...webhook, clientConfig: { service: { name: 's', namespace: 'ns', port: 0 } } }],
    'webhooks[0].clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive',
  ],
  [
    'webhooks',
    [{ ...webhook, clientConfig: { service: { name: 's', namespace: 'ns', port: 65536 } } }],
    'webhooks[0].clientConfig.service.port: Invalid value: 65536: port is not valid: must be between 1 and 65535, inclusive',
  ],
  ['webhooks', [{ ...webhook, clientConfig: { service: { name: 's', namespace: 'ns', path: '/' } } }]],
  ['webhooks', [{ ...webhook, clientConfig: { service: { name: 's', namespace: 'ns', path: '/a/b/' } } }]],
  [
    'webhooks',
    [{ ...webhook, clientConfig: { service: { name: 's', namespace: 'ns', path: 'a' } } }],
    `webhooks[0].clientConfig.service.path: Invalid value: "a": must start with a '/'`,
    'webhooks[0].clientConfig.service.path: Invalid value: "a": segment[0] may not be empty',
  ],
  [
    'webhooks',
    [{ ...webhook, clientConfig: { service: { name: 's', namespace: 'ns', path: '/a//b' } } }],
    'webhooks[0].clientConfig.service.path: Invalid value: "/a//b": segment[1] may not be empty',
  ],
  [
    'webhooks',
    [{ ...webhook, clientConfig: { service: { name: 's', namespace: 'ns', path: '/A' } } }],
    `webhooks[0].clientConfig.service.path: Invalid value: "/A": segment[0]: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
  ],
  [
    'webhooks',
    [{ ...webhook, clientConfig: { service: { name: 's', namespace: 'ns', path: '//' } } }],
    'webhooks[0].clientConfig.service.path: Invalid value: "//": segment[0] may not be empty',
  ],
];
const update: RuleRow[] = [
  [
    'webhooks.0.timeoutSeconds',
    0,
    'webhooks[0].timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds',
  ],
  [
    'webhooks.0.sideEffects',
    'Some',
    'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
  ],
  [
    'webhooks.0.admissionReviewVersions',
    ['v2'],
    'webhooks[0].admissionReviewVersions: Invalid value: []string{"v2"}: must include at least one of v1, v1beta1',
  ],
];

/** Rules of mutating webhooks only. */
const createMutating: RuleRow[] = [
  [
    'webhooks',
    [{ ...webhook, reinvocationPolicy: 'Other' }],
    'webhooks[0].reinvocationPolicy: Unsupported value: "Other": supported values: "IfNeeded", "Never"',
  ],
  ['webhooks', [{ ...webhook, reinvocationPolicy: 'IfNeeded' }]],
];
const updateMutating: RuleRow[] = [
  [
    'webhooks.0.reinvocationPolicy',
    'Other',
    'webhooks[0].reinvocationPolicy: Unsupported value: "Other": supported values: "IfNeeded", "Never"',
  ],
];

t.test('validating webhook configurations are validated as in 1.24', async (t) => {
  checkRules(t, validatingWebhookConfigurationStrategy, base, create);
  checkUpdateRules(t, validatingWebhookConfigurationStrategy, base, update);
});

t.test('mutating webhook configurations are validated as in 1.24', async (t) => {
  checkRules(t, mutatingWebhookConfigurationStrategy, base, [...create, ...createMutating]);
  checkUpdateRules(t, mutatingWebhookConfigurationStrategy, base, [...update, ...updateMutating]);
});
