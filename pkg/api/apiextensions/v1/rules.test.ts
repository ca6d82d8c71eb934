import t from 'tap';
import { customResourceDefinitionStrategy } from '#api/apiextensions/v1/customresourcedefinition/strategy.js';
import { checkRules, checkStatusRules, checkUpdateRules, type RuleRow } from '#api/testing/rule-table.js';
import type { Draft } from '#api/testing/strategy-table.js';

type NameAndStorage = readonly [name: string, storage: boolean];

/** Versions with a common schema in Go syntax. */
function shownVersions(...versions: readonly NameAndStorage[]): string {
  return `[]apiextensions.CustomResourceDefinitionVersion{${versions.map(shownVersion).join(', ')}}`;
}

function shownVersion([name, storage]: NameAndStorage): string {
  const absent =
    'Deprecated:false, DeprecationWarning:(*string)(nil), Schema:(*apiextensions.CustomResourceValidation)(nil), ' +
    'Subresources:(*apiextensions.CustomResourceSubresources)(nil), ' +
    'AdditionalPrinterColumns:[]apiextensions.CustomResourceColumnDefinition(nil)';
  return `apiextensions.CustomResourceDefinitionVersion{Name:"${name}", Served:true, Storage:${storage}, ${absent}}`;
}

t.test('definitions are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { a: { type: 'string' } } } },
        },
      ],
    },
  };
  const create: RuleRow[] = [
    [
      'metadata.name',
      'other.example.com',
      'metadata.name: Invalid value: "other.example.com": must be spec.names.plural+"."+spec.group',
    ],
    [
      'spec.group',
      '',
      'metadata.name: Invalid value: "widgets.example.com": must be spec.names.plural+"."+spec.group',
      'spec.group: Required value',
    ],
    [
      'spec.group',
      'A.b',
      'metadata.name: Invalid value: "widgets.example.com": must be spec.names.plural+"."+spec.group',
      `spec.group: Invalid value: "A.b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'spec.group',
      'example',
      'metadata.name: Invalid value: "widgets.example.com": must be spec.names.plural+"."+spec.group',
      'spec.group: Invalid value: "example": should be a domain with at least one dot',
    ],
    ['spec.scope', '', 'spec.scope: Required value'],
    ['spec.scope', 'Other', 'spec.scope: Unsupported value: "Other": supported values: "Cluster", "Namespaced"'],
    [
      'spec.names',
      { kind: 'Widget' },
      'metadata.name: Invalid value: "widgets.example.com": must be spec.names.plural+"."+spec.group',
      'spec.names.plural: Required value',
    ],
    [
      'spec.names',
      { plural: 'widgets' },
      'spec.names.singular: Required value',
      'spec.names.kind: Required value',
      'spec.names.listKind: Required value',
    ],
    [
      'spec.names.plural',
      'Widgets',
      'metadata.name: Invalid value: "widgets.example.com": must be spec.names.plural+"."+spec.group',
      `spec.names.plural: Invalid value: "Widgets": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'spec.names.singular',
      'A',
      `spec.names.singular: Invalid value: "A": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'spec.names.kind',
      '1',
      `spec.names.singular: Invalid value: "1": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
      `spec.names.kind: Invalid value: "1": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
      `spec.names.listKind: Invalid value: "1List": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'spec.names.listKind',
      'Widget',
      'spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same',
    ],
    [
      'spec.names.listKind',
      'a_b',
      `spec.names.listKind: Invalid value: "a_b": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'spec.names.shortNames',
      ['A', 'b'],
      `spec.names.shortNames[0]: Invalid value: "A": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'spec.names.categories',
      ['all', 'a.b'],
      `spec.names.categories[1]: Invalid value: "a.b": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'spec.versions',
      [],
      'spec.versions: Invalid value: []apiextensions.CustomResourceDefinitionVersion{}: must have exactly one version marked as storage version',
      'status.storedVersions: Invalid value: []string(nil): must have at least one stored version',
    ],
    [
      'spec.versions.0.name',
      'V1',
      `spec.versions[0].name: Invalid value: "V1": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
      `spec.version: Invalid value: "V1": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'spec.versions',
      [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
        { name: 'v1', served: true, storage: false, schema: { openAPIV3Schema: { type: 'object' } } },
      ],
      `spec.versions: Invalid value: ${shownVersions(['v1', true], ['v1', false])}: must contain unique version names`,
    ],
    [
      'spec.versions',
      [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
        { name: 'v2', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
      ],
      `spec.versions: Invalid value: ${shownVersions(['v1', true], ['v2', true])}: must have exactly one version marked as storage version`,
      `status.storedVersions: Invalid value: ${shownVersion(['v2', true])}: must have the storage version v2`,
    ],
    [
      'spec.versions.0.storage',
      false,
      `spec.versions: Invalid value: ${shownVersions(['v1', false])}: must have exactly one version marked as storage version`,
      'status.storedVersions: Invalid value: []string(nil): must have at least one stored version',
    ],
    [
      'spec.versions.0.schema',
      undefined,
      'spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required',
    ],
    [
      'spec.versions',
      [
        { name: 'v1', served: true, storage: true },
        { name: 'v2', served: true, storage: false, schema: { openAPIV3Schema: { type: 'object' } } },
      ],
      'spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required',
    ],
    [
      'spec.versions.0.deprecationWarning',
      'x',
      'spec.versions[0].deprecationWarning: Invalid value: "x": can only be set for deprecated versions',
    ],
    [
      'spec.versions',
      [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object' } },
          deprecated: true,
          deprecationWarning: '',
        },
      ],
      'spec.versions[0].deprecationWarning: Invalid value: "": must not be an empty string',
    ],
    [
      'spec.versions',
      [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object' } },
          deprecated: true,
          deprecationWarning: 'x'.repeat(257),
        },
      ],
      `spec.versions[0].deprecationWarning: Invalid value: "${'x'.repeat(257)}": must be <= 256 characters long`,
    ],
    [
      'spec.versions',
      [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object' } },
          deprecated: true,
          deprecationWarning: 'a\u0007',
        },
      ],
      'spec.versions[0].deprecationWarning: Invalid value: "a\\a": must only contain printable UTF-8 characters; non-printable character found at index 1',
    ],
    [
      'spec.versions',
      [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object' } },
          deprecated: true,
          deprecationWarning: 'old',
        },
      ],
    ],
    [
      'spec.preserveUnknownFields',
      true,
      'spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-preserve-unknown-fields to true in spec.versions[*].schema instead',
    ],
    ['spec.conversion', { strategy: '' }, 'spec.conversion.strategy: Required value'],
    [
      'spec.conversion',
      { strategy: 'Other' },
      'spec.conversion.strategy: Unsupported value: "Other": supported values: "None", "Webhook"',
    ],
    [
      'spec.conversion',
      { strategy: 'None', webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://h' } } },
      'spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook',
      'spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook',
    ],
    [
      'spec.conversion',
      { strategy: 'Webhook' },
      'spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook',
      'spec.conversion.conversionReviewVersions: Required value',
    ],
    [
      'spec.conversion',
      { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://h' } } },
    ],
    [
      'spec.conversion',
      { strategy: 'Webhook', webhook: { conversionReviewVersions: [], clientConfig: { url: 'https://h' } } },
      'spec.conversion.conversionReviewVersions: Required value',
    ],
    [
      'spec.conversion',
      { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v2'], clientConfig: { url: 'https://h' } } },
      'spec.conversion.conversionReviewVersions: Invalid value: []string{"v2"}: must include at least one of v1, v1beta1',
    ],
    [
      'spec.conversion',
      { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1', 'v1'], clientConfig: { url: 'https://h' } } },
      'spec.conversion.conversionReviewVersions[1]: Invalid value: "v1": duplicate version',
    ],
    [
      'spec.conversion',
      { strategy: 'Webhook', webhook: { conversionReviewVersions: ['V1', 'v1'], clientConfig: { url: 'https://h' } } },
      `spec.conversion.conversionReviewVersions[0]: Invalid value: "V1": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'spec.conversion',
      { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig: {} } },
      'spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required',
    ],
    [
      'spec.conversion',
      { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'http://h' } } },
      `spec.conversion.webhookClientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]`,
    ],
    [
      'spec.conversion',
      {
        strategy: 'Webhook',
        webhook: {
          conversionReviewVersions: ['v1'],
          clientConfig: { service: { namespace: 'a', name: 'b', port: 0 } },
        },
      },
      'spec.conversion.webhookClientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive',
    ],
    ['spec.versions.0.subresources', { status: {} }],
    [
      'spec.versions.0.subresources',
      { scale: {} },
      'spec.subresources.scale.specReplicasPath: Required value',
      'spec.subresources.scale.statusReplicasPath: Required value',
    ],
    [
      'spec.versions.0.subresources',
      { scale: { specReplicasPath: 'spec.a', statusReplicasPath: 'status.a' } },
      'spec.subresources.scale.specReplicasPath: Invalid value: "spec.a": must be a simple json path starting with .',
      'spec.subresources.scale.statusReplicasPath: Invalid value: "status.a": must be a simple json path starting with .',
    ],
    [
      'spec.versions.0.subresources',
      { scale: { specReplicasPath: '.status.a', statusReplicasPath: '.spec.a' } },
      'spec.subresources.scale.specReplicasPath: Invalid value: ".status.a": should be a json path under .spec',
      'spec.subresources.scale.statusReplicasPath: Invalid value: ".spec.a": should be a json path under .status',
    ],
    [
      'spec.versions.0.subresources',
      { scale: { specReplicasPath: '.spec.a', statusReplicasPath: '.status.a', labelSelectorPath: '.a' } },
      'spec.subresources.scale.labelSelectorPath: Invalid value: ".a": should be a json path under either .spec or .status',
    ],
    [
      'spec.versions.0.subresources',
      { scale: { specReplicasPath: '.spec.a', statusReplicasPath: '.status.a', labelSelectorPath: '.status.b' } },
    ],
    [
      'spec.versions.0.additionalPrinterColumns',
      [{}],
      'spec.additionalPrinterColumns[0].name: Required value',
      'spec.additionalPrinterColumns[0].type: Required value: must be one of boolean,date,integer,number,string',
      'spec.additionalPrinterColumns[0].JSONPath: Required value',
    ],
    [
      'spec.versions.0.additionalPrinterColumns',
      [{ name: 'A', type: 'other', jsonPath: '.a' }],
      'spec.additionalPrinterColumns[0].type: Invalid value: "other": must be one of boolean,date,integer,number,string',
    ],
    [
      'spec.versions.0.additionalPrinterColumns',
      [{ name: 'A', type: 'date', jsonPath: 'a' }],
      'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting with .',
    ],
    [
      'spec.versions.0.additionalPrinterColumns',
      [{ name: 'A', type: 'string', format: 'x', jsonPath: '.a' }],
      'spec.additionalPrinterColumns[0].format: Invalid value: "x": must be one of byte,date,date-time,double,float,int32,int64,password',
    ],
    ['spec.versions.0.additionalPrinterColumns', [{ name: 'A', type: 'string', jsonPath: '.a' }]],
    [
      'spec.versions',
      [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object' } },
          additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: 'a' }],
        },
        {
          name: 'v2',
          served: true,
          storage: false,
          schema: { openAPIV3Schema: { type: 'object' } },
          additionalPrinterColumns: [],
        },
      ],
      'spec.versions[0].additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting with .',
    ],
    [
      'spec.versions',
      [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: {} } },
        { name: 'v2', served: true, storage: false, schema: { openAPIV3Schema: { type: 'object' } } },
      ],
      'spec.versions[0].schema.openAPIV3Schema.type: Required value: must not be empty at the root',
    ],
  ];
  checkRules(t, customResourceDefinitionStrategy, base, create);
  const update: RuleRow[] = [
    ['spec.group', 'other.com', 'spec.group: Invalid value: "other.com": field is immutable'],
    ['spec.names.plural', 'others', 'spec.names.plural: Invalid value: "others": field is immutable'],
    ['spec.scope', 'Cluster'],
    ['spec.names.kind', 'Other'],
    [
      'spec.versions',
      [{ name: 'v2', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      'status.storedVersions[0]: Invalid value: "v1": must appear in spec.versions',
    ],
    ['status', { storedVersions: [] }],
  ];
  checkUpdateRules(t, customResourceDefinitionStrategy, base, update);
  const status: RuleRow[] = [
    [
      'acceptedNames',
      { plural: 'A', kind: '1', listKind: '1' },
      `status.acceptedNames.plural: Invalid value: "A": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
      `status.acceptedNames.kind: Invalid value: "1": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
      `status.acceptedNames.listKind: Invalid value: "1": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
      'status.acceptedNames.listKind: Invalid value: "1": kind and listKind may not be the same',
    ],
    [
      'acceptedNames',
      { plural: 'a', kind: 'A', listKind: 'A' },
      'status.acceptedNames.listKind: Invalid value: "A": kind and listKind may not be the same',
    ],
    [
      'acceptedNames',
      { shortNames: ['A'] },
      `status.acceptedNames.shortNames[0]: Invalid value: "A": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
    ],
  ];
  checkStatusRules(t, customResourceDefinitionStrategy, { base }, status);
  t.end();
});

t.test('schemas are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { a: { type: 'string' } } } },
        },
      ],
    },
  };
  const create: RuleRow[] = [
    [
      'spec.versions.0.schema.openAPIV3Schema',
      {},
      'spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema',
      { type: 'string' },
      'spec.validation.openAPIV3Schema.type: Invalid value: "string": must be object at the root',
    ],
    ['spec.versions.0.schema.openAPIV3Schema', { 'x-orch-preserve-unknown-fields': true }],
    [
      'spec.versions.0.schema.openAPIV3Schema',
      { type: 'object', nullable: true },
      'spec.validation.openAPIV3Schema.nullable: Forbidden: nullable cannot be true at the root',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema',
      { type: 'object', additionalProperties: { type: 'string' } },
      'spec.validation.openAPIV3Schema.additionalProperties: Forbidden: must not be used at the root',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema',
      {
        type: 'object',
        properties: { kind: { type: 'integer' }, apiVersion: { type: 'object' }, metadata: { type: 'string' } },
      },
      'spec.validation.openAPIV3Schema.properties[apiVersion].type: Invalid value: "object": must be string',
      'spec.validation.openAPIV3Schema.properties[kind].type: Invalid value: "integer": must be string',
      'spec.validation.openAPIV3Schema.properties[metadata].type: Invalid value: "string": must be object',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema',
      {
        type: 'object',
        properties: { metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 5 } } } },
      },
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema',
      { type: 'object', properties: { metadata: { type: 'object', properties: { labels: { type: 'object' } } } } },
      'spec.validation.openAPIV3Schema.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema',
      { type: 'object', properties: { metadata: { type: 'object', description: 'x' } } },
      'spec.validation.openAPIV3Schema.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema',
      { type: 'object', properties: { metadata: { type: 'object', default: {} } } },
      'spec.validation.openAPIV3Schema.properties[metadata].default: Forbidden: must not be set in top-level metadata',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema',
      { type: 'object', properties: { kind: { type: 'string', default: 'A' } } },
      'spec.validation.openAPIV3Schema.properties[kind].default: Forbidden: must not be set in top-level kind',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      {},
      'spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'null' },
      'spec.validation.openAPIV3Schema.properties[a].type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string"',
      'spec.validation.openAPIV3Schema.properties[a].type: Forbidden: type cannot be set to null, use nullable as an alternative',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'text' },
      'spec.validation.openAPIV3Schema.properties[a].type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'string', id: 'x' },
      'spec.validation.openAPIV3Schema.properties[a].id: Forbidden: id is not supported',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'string', $ref: '#/x' },
      'spec.validation.openAPIV3Schema.properties[a].$ref: Forbidden: $ref is not supported',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'array' },
      'spec.validation.openAPIV3Schema.properties[a].items: Required value: must be specified',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'array', items: {} },
      'spec.validation.openAPIV3Schema.properties[a].items.type: Required value: must not be empty for specified array items',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'array', items: [{ type: 'string' }] },
      'spec.validation.openAPIV3Schema.properties[a].items: Forbidden: items must be a schema object and not an array',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'array', items: { type: 'string' }, uniqueItems: true },
      'spec.validation.openAPIV3Schema.properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'object', patternProperties: { a: { type: 'string' } } },
      'spec.validation.openAPIV3Schema.properties[a].patternProperties: Forbidden: patternProperties is not supported',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'object', properties: { b: { type: 'string' } }, additionalProperties: false },
      'spec.validation.openAPIV3Schema.properties[a].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'object', additionalProperties: {} },
      'spec.validation.openAPIV3Schema.properties[a].additionalProperties.type: Required value: must not be empty for specified object fields',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'string', pattern: 'a(' },
      `spec.validation.openAPIV3Schema.properties[a].pattern: Invalid value: "a(": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): \`a(\``,
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'string', pattern: '(?=a)b' },
      `spec.validation.openAPIV3Schema.properties[a].pattern: Invalid value: "(?=a)b": must be a valid regular expression, but isn't: error parsing regexp: invalid or unsupported Perl syntax: \`(?=\``,
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'string', pattern: '(a)\\1' },
      `spec.validation.openAPIV3Schema.properties[a].pattern: Invalid value: "(a)\\\\1": must be a valid regular expression, but isn't: error parsing regexp: invalid escape sequence: \`\\1\``,
    ],
    ['spec.versions.0.schema.openAPIV3Schema.properties.a', { type: 'string', pattern: '(?i)^[[:alpha:]]+\\z' }],
    ['spec.versions.0.schema.openAPIV3Schema.properties.a', { type: 'string', pattern: '^(?P<x>a+)$' }],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'object', 'x-orch-preserve-unknown-fields': false },
      'spec.validation.openAPIV3Schema.properties[a].x-orch-preserve-unknown-fields: Invalid value: false: must be true or undefined',
    ],
    ['spec.versions.0.schema.openAPIV3Schema.properties.a', { 'x-orch-preserve-unknown-fields': true }],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { 'x-orch-int-or-string': true, 'x-orch-preserve-unknown-fields': true },
      'spec.validation.openAPIV3Schema.properties[a].x-orch-preserve-unknown-fields: Invalid value: true: must be false if x-orch-int-or-string is true',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { 'x-orch-int-or-string': true, 'x-orch-embedded-resource': true },
      'spec.validation.openAPIV3Schema.properties[a].properties: Required value: must not be empty if x-orch-embedded-resource is true without x-orch-preserve-unknown-fields',
      'spec.validation.openAPIV3Schema.properties[a].type: Required value: must be object if x-orch-embedded-resource is true',
      'spec.validation.openAPIV3Schema.properties[a].x-orch-embedded-resource: Invalid value: true: must be false if x-orch-int-or-string is true',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { 'x-orch-embedded-resource': true },
      'spec.validation.openAPIV3Schema.properties[a].properties: Required value: must not be empty if x-orch-embedded-resource is true without x-orch-preserve-unknown-fields',
      'spec.validation.openAPIV3Schema.properties[a].type: Required value: must be object if x-orch-embedded-resource is true',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'string', 'x-orch-embedded-resource': true },
      'spec.validation.openAPIV3Schema.properties[a].properties: Required value: must not be empty if x-orch-embedded-resource is true without x-orch-preserve-unknown-fields',
      'spec.validation.openAPIV3Schema.properties[a].type: Invalid value: "string": must be object if x-orch-embedded-resource is true',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'object', 'x-orch-embedded-resource': true },
      'spec.validation.openAPIV3Schema.properties[a].properties: Required value: must not be empty if x-orch-embedded-resource is true without x-orch-preserve-unknown-fields',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'object', 'x-orch-embedded-resource': true, 'x-orch-preserve-unknown-fields': true },
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      {
        type: 'object',
        'x-orch-embedded-resource': true,
        additionalProperties: { type: 'string' },
        'x-orch-preserve-unknown-fields': true,
      },
      'spec.validation.openAPIV3Schema.properties[a].additionalProperties: Forbidden: must not be used if x-orch-embedded-resource is set',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'object', 'x-orch-embedded-resource': true, properties: { kind: { type: 'integer' } } },
      'spec.validation.openAPIV3Schema.properties[a].properties[kind].type: Invalid value: "integer": must be string',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      {
        type: 'object',
        'x-orch-embedded-resource': true,
        properties: {
          metadata: { type: 'object', 'x-orch-embedded-resource': true, 'x-orch-preserve-unknown-fields': true },
        },
      },
      'spec.validation.openAPIV3Schema.properties[a].properties[metadata].x-orch-embedded-resource: Forbidden: must not be used inside of resource meta',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'string', 'x-orch-map-type': 'atomic' },
      'spec.validation.openAPIV3Schema.properties[a].type: Invalid value: "string": must be object if x-orch-map-type is specified',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'object', 'x-orch-map-type': 'other' },
      'spec.validation.openAPIV3Schema.properties[a].x-orch-map-type: Unsupported value: "other": supported values: "atomic", "granular"',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { 'x-orch-list-type': 'set' },
      'spec.validation.openAPIV3Schema.properties[a].type: Required value: must be array if x-orch-list-type is specified',
      'spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'string', 'x-orch-list-type': 'set' },
      'spec.validation.openAPIV3Schema.properties[a].type: Invalid value: "string": must be array if x-orch-list-type is specified',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'array', items: { type: 'string' }, 'x-orch-list-type': 'other' },
      'spec.validation.openAPIV3Schema.properties[a].x-orch-list-type: Unsupported value: "other": supported values: "atomic", "set", "map"',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'array', items: { type: 'string' }, 'x-orch-list-map-keys': ['a'] },
      'spec.validation.openAPIV3Schema.properties[a].x-orch-list-type: Required value: must be map if x-orch-list-map-keys is non-empty',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'array', items: { type: 'string' }, 'x-orch-list-type': 'set', 'x-orch-list-map-keys': ['a'] },
      'spec.validation.openAPIV3Schema.properties[a].x-orch-list-type: Invalid value: "set": must be map if x-orch-list-map-keys is non-empty',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'array', items: { type: 'object' }, 'x-orch-list-type': 'map' },
      'spec.validation.openAPIV3Schema.properties[a].x-orch-list-map-keys: Required value: must not be empty if x-orch-list-type is map',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'array', items: { type: 'string' }, 'x-orch-list-type': 'map', 'x-orch-list-map-keys': ['a'] },
      `spec.validation.openAPIV3Schema.properties[a].items.type: Invalid value: "string": must be object if parent array's x-orch-list-type is map`,
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'array', items: { type: 'object' }, 'x-orch-list-type': 'map', 'x-orch-list-map-keys': ['a'] },
      'spec.validation.openAPIV3Schema.properties[a].x-orch-list-map-keys: Invalid value: []string{"a"}: entries must all be names of item properties',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      {
        type: 'array',
        items: { type: 'object', required: ['k'], properties: { k: { type: 'string' } } },
        'x-orch-list-type': 'map',
        'x-orch-list-map-keys': ['k', 'k'],
      },
      'spec.validation.openAPIV3Schema.properties[a].x-orch-list-map-keys: Invalid value: []string{"k", "k"}: must not contain duplicate entries',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      {
        type: 'array',
        items: { type: 'object', properties: { k: { type: 'array', items: { type: 'string' }, nullable: true } } },
        'x-orch-list-type': 'map',
        'x-orch-list-map-keys': ['k'],
      },
      `spec.validation.openAPIV3Schema.properties[a].items.properties[k].type: Invalid value: "array": must be a scalar type if parent array's x-orch-list-type is map`,
      'spec.validation.openAPIV3Schema.properties[a].items.properties[k].default: Required value: this property is in x-orch-list-map-keys, so it must have a default or be a required property',
      'spec.validation.openAPIV3Schema.properties[a].items.properties[k].nullable: Forbidden: this property is in x-orch-list-map-keys, so it cannot be nullable',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      {
        type: 'array',
        items: { type: 'object', nullable: true, properties: { k: { type: 'string', default: 'x' } } },
        'x-orch-list-type': 'map',
        'x-orch-list-map-keys': ['k'],
      },
      'spec.validation.openAPIV3Schema.properties[a].items.nullable: Forbidden: cannot be nullable when x-orch-list-type is map',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'array', items: { type: 'string', nullable: true }, 'x-orch-list-type': 'set' },
      'spec.validation.openAPIV3Schema.properties[a].items.nullable: Forbidden: cannot be nullable when x-orch-list-type is set',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'array', items: { type: 'object' }, 'x-orch-list-type': 'set' },
      'spec.validation.openAPIV3Schema.properties[a].items.x-orch-map-type: Invalid value: "null": must be atomic as item of a list with x-orch-list-type=set',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'array', items: { type: 'object', 'x-orch-map-type': 'atomic' }, 'x-orch-list-type': 'set' },
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      {
        type: 'array',
        items: { type: 'array', items: { type: 'string' }, 'x-orch-list-type': 'set' },
        'x-orch-list-type': 'set',
      },
      'spec.validation.openAPIV3Schema.properties[a].items.x-orch-list-type: Invalid value: "set": must be atomic as item of a list with x-orch-list-type=set',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'string', anyOf: [{ type: 'string' }] },
      'spec.validation.openAPIV3Schema.properties[a].anyOf[0].type: Forbidden: must be empty to be structural',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { 'x-orch-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { 'x-orch-int-or-string': true, allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }, { pattern: 'x' }] },
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { 'x-orch-int-or-string': true, oneOf: [{ type: 'integer' }, { type: 'string' }] },
      'spec.validation.openAPIV3Schema.properties[a].oneOf[0].type: Forbidden: must be empty to be structural',
      'spec.validation.openAPIV3Schema.properties[a].oneOf[1].type: Forbidden: must be empty to be structural',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      {
        type: 'object',
        properties: { b: { type: 'string' } },
        allOf: [{ properties: { b: { minLength: 1 }, c: { minLength: 1 } } }],
      },
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'array', items: { type: 'string' }, not: { items: { maxLength: 3 } } },
    ],
    ['spec.versions.0.schema.openAPIV3Schema.properties.a', { type: 'string', not: { items: { maxLength: 3 } } }],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      {
        type: 'string',
        not: { title: 'x', description: 'x', nullable: true, default: 'x', additionalProperties: true },
      },
      'spec.validation.openAPIV3Schema.properties[a].not.additionalProperties: Forbidden: must be undefined to be structural',
      'spec.validation.openAPIV3Schema.properties[a].not.default: Forbidden: must be undefined to be structural',
      'spec.validation.openAPIV3Schema.properties[a].not.description: Forbidden: must be empty to be structural',
      'spec.validation.openAPIV3Schema.properties[a].not.nullable: Forbidden: must be false to be structural',
      'spec.validation.openAPIV3Schema.properties[a].not.title: Forbidden: must be empty to be structural',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      {
        type: 'string',
        not: {
          'x-orch-preserve-unknown-fields': true,
          'x-orch-embedded-resource': true,
          'x-orch-int-or-string': true,
          'x-orch-list-type': 'set',
          'x-orch-map-type': 'atomic',
          'x-orch-list-map-keys': ['a'],
        },
      },
      'spec.validation.openAPIV3Schema.properties[a].not.type: Required value: must be object if x-orch-map-type is specified',
      'spec.validation.openAPIV3Schema.properties[a].not.type: Required value: must be array if x-orch-list-type is specified',
      'spec.validation.openAPIV3Schema.properties[a].not.x-orch-list-type: Invalid value: "set": must be map if x-orch-list-map-keys is non-empty',
      'spec.validation.openAPIV3Schema.properties[a].not.x-orch-embedded-resource: Forbidden: must be false to be structural',
      'spec.validation.openAPIV3Schema.properties[a].not.x-orch-int-or-string: Forbidden: must be false to be structural',
      'spec.validation.openAPIV3Schema.properties[a].not.x-orch-list-map-keys: Forbidden: must be empty to be structural',
      'spec.validation.openAPIV3Schema.properties[a].not.x-orch-list-type: Forbidden: must be undefined to be structural',
      'spec.validation.openAPIV3Schema.properties[a].not.x-orch-map-type: Forbidden: must be undefined to be structural',
      'spec.validation.openAPIV3Schema.properties[a].not.x-orch-preserve-unknown-fields: Forbidden: must be false to be structural',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      {
        type: 'object',
        properties: { metadata: { type: 'object' } },
        anyOf: [{ properties: { metadata: { required: ['a'] } } }],
      },
      'spec.validation.openAPIV3Schema.properties[a].anyOf[0].properties[metadata]: Forbidden: must not be specified in a nested context',
    ],
  ];
  checkRules(t, customResourceDefinitionStrategy, base, create);
  t.end();
});

t.test('defaults of schemas are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { a: { type: 'string' } } } },
        },
      ],
    },
  };
  const create: RuleRow[] = [
    ['spec.versions.0.schema.openAPIV3Schema.properties.a', { type: 'string', default: 'x' }],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'integer', default: 'x' },
      'spec.validation.openAPIV3Schema.properties[a].default: Invalid value: "string":  in body must be of type integer: "string"',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'integer', default: 1.5 },
      'spec.validation.openAPIV3Schema.properties[a].default: Invalid value: "number":  in body must be of type integer: "number"',
    ],
    ['spec.versions.0.schema.openAPIV3Schema.properties.a', { type: 'number', default: 1 }],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'string', default: null },
      'spec.validation.openAPIV3Schema.properties[a].default: Invalid value: "null":  in body must be of type string: "null"',
    ],
    ['spec.versions.0.schema.openAPIV3Schema.properties.a', { type: 'string', nullable: true, default: null }],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { 'x-orch-int-or-string': true, default: true },
      'spec.validation.openAPIV3Schema.properties[a].default: Invalid value: "boolean":  in body must be of type integer,string: "boolean"',
    ],
    ['spec.versions.0.schema.openAPIV3Schema.properties.a', { 'x-orch-int-or-string': true, default: '50%' }],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'string', enum: ['a', 'b'], default: 'c' },
      'spec.validation.openAPIV3Schema.properties[a].default: Unsupported value: "c": supported values: "a", "b"',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'string', maxLength: 1, default: 'ab' },
      'spec.validation.openAPIV3Schema.properties[a].default: Too long: may not be longer than 1',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'string', minLength: 3, default: 'ab' },
      'spec.validation.openAPIV3Schema.properties[a].default: Invalid value: "ab":  in body should be at least 3 chars long',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'string', pattern: '^b', default: 'ab' },
      `spec.validation.openAPIV3Schema.properties[a].default: Invalid value: "ab":  in body should match '^b'`,
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'string', format: 'date-time', default: 'noon' },
      'spec.validation.openAPIV3Schema.properties[a].default: Invalid value: "noon":  in body must be of type date-time: "noon"',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'integer', minimum: 3, default: 2 },
      'spec.validation.openAPIV3Schema.properties[a].default: Invalid value: 2:  in body should be greater than or equal to 3',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'integer', maximum: 3, exclusiveMaximum: true, default: 3 },
      'spec.validation.openAPIV3Schema.properties[a].default: Invalid value: 3:  in body should be less than 3',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'integer', multipleOf: 2, default: 3 },
      'spec.validation.openAPIV3Schema.properties[a].default: Invalid value: 3:  in body should be a multiple of 2',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'array', items: { type: 'string' }, maxItems: 1, default: ['a', 'b'] },
      'spec.validation.openAPIV3Schema.properties[a].default: Too many: 2: must have at most 1 items',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'array', items: { type: 'string' }, minItems: 1, default: [] },
      'spec.validation.openAPIV3Schema.properties[a].default: Invalid value: 0:  in body should have at least 1 items',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'array', items: { type: 'string' }, default: [1] },
      'spec.validation.openAPIV3Schema.properties[a].default[0]: Invalid value: "integer": [0] in body must be of type string: "integer"',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'object', properties: { b: { type: 'string' } }, default: { c: 1 } },
      'spec.validation.openAPIV3Schema.properties[a].default: Invalid value: map[string]interface {}{"c":1}: must not have unknown fields',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'object', properties: { b: { type: 'string' } }, default: { b: 1 } },
      'spec.validation.openAPIV3Schema.properties[a].default.b: Invalid value: "integer": b in body must be of type string: "integer"',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'object', properties: { b: { type: 'string' } }, required: ['b'], default: {} },
      'spec.validation.openAPIV3Schema.properties[a].default.b: Required value',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'object', 'x-orch-preserve-unknown-fields': true, default: { c: 1 } },
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'object', additionalProperties: { type: 'integer' }, default: { c: 'd' } },
      'spec.validation.openAPIV3Schema.properties[a].default.c: Invalid value: "string": .c in body must be of type integer: "string"',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      {
        type: 'object',
        properties: {
          b: { type: 'array', items: { type: 'object', properties: { c: { type: 'integer', default: 'x' } } } },
        },
      },
      'spec.validation.openAPIV3Schema.properties[a].properties[b].items.properties[c].default: Invalid value: "string":  in body must be of type integer: "string"',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'string', oneOf: [{ pattern: '^a' }, { pattern: 'b$' }], default: 'ab' },
      'spec.validation.openAPIV3Schema.properties[a].default: Invalid value: "": "" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'string', anyOf: [{ pattern: '^x' }], default: 'ab' },
      'spec.validation.openAPIV3Schema.properties[a].default: Invalid value: "": "" must validate at least one schema (anyOf)',
      `spec.validation.openAPIV3Schema.properties[a].default: Invalid value: "ab":  in body should match '^x'`,
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'string', allOf: [{ minLength: 5 }], default: 'ab' },
      'spec.validation.openAPIV3Schema.properties[a].default: Invalid value: "ab":  in body should be at least 5 chars long',
      'spec.validation.openAPIV3Schema.properties[a].default: Invalid value: "": "" must validate all the schemas (allOf). None validated',
    ],
    [
      'spec.versions.0.schema.openAPIV3Schema.properties.a',
      { type: 'string', not: { pattern: '^a' }, default: 'ab' },
      'spec.validation.openAPIV3Schema.properties[a].default: Invalid value: "": "" must not validate the schema (not)',
    ],
  ];
  checkRules(t, customResourceDefinitionStrategy, base, create);
  t.end();
});
