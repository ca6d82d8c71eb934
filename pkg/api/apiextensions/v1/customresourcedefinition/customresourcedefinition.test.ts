import t from 'tap';
import { customResourceDefinitionStrategy } from '#api/apiextensions/v1/customresourcedefinition/strategy.js';
import type { CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.js';
import type { Strategy } from '#api/strategy/strategy.js';
import {
  created,
  createFailures,
  type Draft,
  statusFailures,
  testContext,
  updated,
  updateFailures,
  withField,
} from '#api/testing/strategy-table.js';
import type { Draft as Mutable } from '#apimachinery/draft.js';

const strategy = customResourceDefinitionStrategy as unknown as Strategy;

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
        schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object' } } } },
      },
    ],
  },
};
const schemaPath = 'spec.versions.0.schema.openAPIV3Schema';
const versions = (...names: string[]) =>
  names.map((name, i) => ({ name, served: true, storage: i === 0, schema: { openAPIV3Schema: { type: 'object' } } }));
const webhook = {
  conversionReviewVersions: ['v1'],
  clientConfig: { service: { namespace: 'a', name: 'b', path: '/convert' } },
};

t.test('a new definition gets defaults, conditions and a storage version', (t) => {
  const object = created(strategy, base) as unknown as CustomResourceDefinition;
  t.match(object, {
    metadata: { generation: 1 },
    spec: { names: { singular: 'widget', listKind: 'WidgetList' }, conversion: { strategy: 'None' } },
    status: { storedVersions: ['v1'] },
  });
  t.strictSame(createFailures(strategy, base), []);
  const two = withField(base, 'spec.versions', versions('v2', 'v1'));
  const next = updated(strategy, two, created(strategy, base)) as unknown as CustomResourceDefinition;
  t.strictSame(next.status?.storedVersions, ['v1', 'v2'], 'the earlier version stays');
  t.equal(next.metadata.generation, 2);
  t.strictSame(strategy.cells?.(object as never, testContext), ['widgets.example.com', '']);
  t.end();
});

const rows: [path: string, value: unknown, failure: RegExp][] = [
  ['metadata.name', 'gadgets.example.com', /^metadata.name: .*must be spec.names.plural\+"\."\+spec.group/],
  ['spec.group', '', /^spec.group: Required/],
  ['spec.group', 'example', /^spec.group: .*should be a domain with at least one dot/],
  ['spec.group', 'Example.com', /^spec.group: .*RFC 1123 subdomain/],
  ['spec.scope', undefined, /^spec.scope: Required/],
  ['spec.scope', 'Planet', /^spec.scope: Unsupported value: "Planet"/],
  ['spec.names.plural', '', /^spec.names.plural: Required/],
  ['spec.names.kind', '', /^spec.names.kind: Required/],
  ['spec.names.kind', 'My_Kind', /^spec.names.kind: .*may have mixed case/],
  ['spec.names.listKind', 'Widget', /^spec.names.listKind: .*may not be the same/],
  ['spec.names.singular', 'Wid', /^spec.names.singular: .*DNS-1035/],
  ['spec.names.shortNames', ['W'], /^spec.names.shortNames\[0\]: /],
  ['spec.names.categories', ['a.b'], /^spec.names.categories\[0\]: /],
  ['spec.versions', [], /^spec.versions: .*exactly one version marked as storage/],
  ['spec.versions', versions('v1', 'v1'), /^spec.versions: .*unique version names/],
  ['spec.versions.0.storage', false, /^spec.versions: .*exactly one version/],
  ['spec.versions.0.name', 'V_1', /^spec.versions\[0\].name: /],
  ['spec.versions.0.schema', undefined, /schema.openAPIV3Schema: Required value: schemas are required/],
  ['spec.versions.0.deprecationWarning', 'x', /deprecationWarning: .*can only be set for deprecated/],
  ['spec.preserveUnknownFields', true, /^spec.preserveUnknownFields: .*cannot set to true/],
  ['spec.conversion', { strategy: 'Magic' }, /^spec.conversion.strategy: Unsupported/],
  ['spec.conversion', { strategy: 'Webhook' }, /webhookClientConfig: Required value: required when strategy/],
  ['spec.conversion', { strategy: 'None', webhook }, /webhookClientConfig: Forbidden: should not be set/],
  [
    'spec.conversion',
    { strategy: 'Webhook', webhook: { ...webhook, conversionReviewVersions: ['v2'] } },
    /conversionReviewVersions: .*must include at least one of v1, v1beta1/,
  ],
  [
    'spec.conversion',
    { strategy: 'Webhook', webhook: { ...webhook, conversionReviewVersions: ['v1', 'v1'] } },
    /conversionReviewVersions\[1\]: .*duplicate version/,
  ],
  [
    'spec.conversion',
    { strategy: 'Webhook', webhook: { ...webhook, clientConfig: { url: 'http://a.b' } } },
    /webhookClientConfig.url: .*'https' is the only allowed/,
  ],
  [
    'spec.conversion',
    {
      strategy: 'Webhook',
      webhook: { ...webhook, clientConfig: { service: { namespace: 'a', name: 'b', path: 'c' } } },
    },
    /service.path: .*must start with a '\/'/,
  ],
  [
    'spec.versions.0.subresources',
    { scale: { specReplicasPath: '', statusReplicasPath: '.status.n' } },
    /scale.specReplicasPath: Required/,
  ],
  [
    'spec.versions.0.subresources',
    { scale: { specReplicasPath: 'spec.n', statusReplicasPath: '.status.n' } },
    /scale.specReplicasPath: .*simple json path starting with \./,
  ],
  [
    'spec.versions.0.subresources',
    { scale: { specReplicasPath: '.status.n', statusReplicasPath: '.status.n' } },
    /scale.specReplicasPath: .*should be a json path under .spec/,
  ],
  [
    'spec.versions.0.subresources',
    { scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.spec.n' } },
    /scale.statusReplicasPath: .*under .status/,
  ],
  [
    'spec.versions.0.subresources',
    { scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n', labelSelectorPath: '.a.b' } },
    /labelSelectorPath: .*either .spec or .status/,
  ],
  ['spec.versions.0.additionalPrinterColumns', [{ type: 'string', jsonPath: '.a' }], /\[0\].name: Required/],
  ['spec.versions.0.additionalPrinterColumns', [{ name: 'A', jsonPath: '.a' }], /\[0\].type: Required/],
  ['spec.versions.0.additionalPrinterColumns', [{ name: 'A', type: 'x', jsonPath: '.a' }], /type: .*must be one of/],
  ['spec.versions.0.additionalPrinterColumns', [{ name: 'A', type: 'date' }], /JSONPath: Required/],
  ['spec.versions.0.additionalPrinterColumns', [{ name: 'A', type: 'date', jsonPath: 'a' }], /JSONPath: .*simple/],
  [
    'spec.versions.0.additionalPrinterColumns',
    [{ name: 'A', type: 'date', jsonPath: '.a', format: 'x' }],
    /format: .*must be one of/,
  ],
];

t.test('a definition is validated as in 1.24', (t) => {
  for (const [path, value, failure] of rows) {
    const failures = createFailures(strategy, withField(base, path, value));
    t.ok(
      failures.some((text) => failure.test(text)),
      `${path} ${failure}`,
      { failures },
    );
  }
  t.end();
});

/** A property of the schema and its expected failure; undefined if it is valid. */
const schemas: [schema: object, failure?: RegExp][] = [
  [{ type: 'string' }],
  [{ type: 'string', nullable: true }],
  [{ 'x-orch-int-or-string': true }],
  [{ 'x-orch-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] }],
  [{ 'x-orch-preserve-unknown-fields': true }],
  [{ type: 'object', additionalProperties: { type: 'string' } }],
  [{ type: 'object', additionalProperties: true, properties: { a: { type: 'string' } } }],
  [{ type: 'array', items: { type: 'string' }, 'x-orch-list-type': 'set' }],
  [{ type: 'integer', default: 3 }],
  [{ type: 'object', properties: { a: { type: 'string' } }, anyOf: [{ required: ['a'] }] }],
  [{ type: 'object', properties: { a: { type: 'string' } }, allOf: [{ properties: { a: { minLength: 1 } } }] }],
  [{}, /properties\[a\].type: Required value: must not be empty for specified object fields/],
  [{ type: 'null' }, /type: Forbidden: type cannot be set to null/],
  [{ type: 'text' }, /type: Unsupported value: "text"/],
  [{ type: 'array' }, /items: Required value: must be specified/],
  [{ type: 'array', items: {} }, /items.type: Required value: must not be empty for specified array items/],
  [{ type: 'array', items: [{ type: 'string' }] }, /items: Forbidden: items must be a schema object/],
  [{ type: 'string', id: 'x' }, /id: Forbidden: id is not supported/],
  [{ type: 'string', $ref: '#/a' }, /\$ref: Forbidden/],
  [{ type: 'object', patternProperties: { a: {} } }, /patternProperties: Forbidden/],
  [{ type: 'object', definitions: { a: {} } }, /definitions: Forbidden/],
  [{ type: 'object', dependencies: { a: [] } }, /dependencies: Forbidden/],
  [{ type: 'array', items: { type: 'string' }, additionalItems: true }, /additionalItems: Forbidden/],
  [{ type: 'array', items: { type: 'string' }, uniqueItems: true }, /uniqueItems: Forbidden/],
  [
    { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: { type: 'string' } },
    /additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive/,
  ],
  [{ type: 'object', 'x-orch-preserve-unknown-fields': false }, /preserve-unknown-fields: .*must be true or undefined/],
  [{ type: 'string', 'x-orch-int-or-string': true }],
  [
    { 'x-orch-int-or-string': true, 'x-orch-preserve-unknown-fields': true },
    /x-orch-preserve-unknown-fields: .*must be false if x-orch-int-or-string/,
  ],
  [{ 'x-orch-embedded-resource': true }, /type: Required value: must be object if x-orch-embedded-resource/],
  [{ type: 'object', 'x-orch-embedded-resource': true }, /properties: Required value: must not be empty if/],
  [{ type: 'string', 'x-orch-map-type': 'atomic' }, /type: .*must be object if x-orch-map-type/],
  [{ type: 'object', 'x-orch-map-type': 'other' }, /x-orch-map-type: Unsupported/],
  [{ type: 'string', 'x-orch-list-type': 'set' }, /type: .*must be array if x-orch-list-type/],
  [{ type: 'array', items: { type: 'string' }, 'x-orch-list-type': 'x' }, /x-orch-list-type: Unsupported/],
  [
    { type: 'array', items: { type: 'string' }, 'x-orch-list-map-keys': ['a'] },
    /x-orch-list-type: Required value: must be map/,
  ],
  [
    { type: 'array', items: { type: 'object' }, 'x-orch-list-type': 'map' },
    /x-orch-list-map-keys: Required value: must not be empty/,
  ],
  [
    { type: 'array', items: { type: 'string' }, 'x-orch-list-type': 'map', 'x-orch-list-map-keys': ['a'] },
    /items.type: .*must be object if parent/,
  ],
  [
    { type: 'array', items: { type: 'object' }, 'x-orch-list-type': 'map', 'x-orch-list-map-keys': ['a'] },
    /entries must all be names of item properties/,
  ],
  [
    {
      type: 'array',
      items: { type: 'object', properties: { a: { type: 'string' } } },
      'x-orch-list-type': 'map',
      'x-orch-list-map-keys': ['a'],
    },
    /items.properties\[a\].default: Required value: this property is in x-orch-list-map-keys/,
  ],
  [
    { type: 'array', items: { type: 'object' }, 'x-orch-list-type': 'set' },
    /items.x-orch-map-type: Invalid value: "null": must be atomic/,
  ],
  [
    { type: 'array', items: { type: 'string', nullable: true }, 'x-orch-list-type': 'set' },
    /items.nullable: Forbidden/,
  ],
  [{ type: 'integer', default: 'x' }, /default: .*must be of type integer: "string"/],
  [{ type: 'string', anyOf: [{ type: 'string' }] }, /anyOf\[0\].type: Forbidden: must be empty to be structural/],
  [{ type: 'string', not: { description: 'x' } }, /not.description: Forbidden/],
];

t.test('schemas are validated as in 1.24', (t) => {
  for (const [schema, failure] of schemas) {
    const root = { type: 'object', properties: { a: schema } };
    const failures = createFailures(strategy, withField(base, schemaPath, root));
    if (failure === undefined) t.strictSame(failures, [], JSON.stringify(schema));
    else
      t.ok(
        failures.some((text) => failure.test(text)),
        JSON.stringify(schema),
        { failures },
      );
  }
  t.end();
});

t.test('the root of a schema must be a plain object', (t) => {
  const root: [schema: object, failure: RegExp][] = [
    [{}, /type: Required value: must not be empty at the root/],
    [{ type: 'string' }, /type: .*must be object at the root/],
    [{ type: 'object', nullable: true }, /nullable: Forbidden: nullable cannot be true at the root/],
    [{ type: 'object', additionalProperties: { type: 'string' } }, /additionalProperties: Forbidden: must not be used/],
    [{ type: 'object', properties: { kind: { type: 'integer' } } }, /properties\[kind\].type: .*must be string/],
    [{ type: 'object', properties: { metadata: { type: 'string' } } }, /properties\[metadata\].type: .*must be object/],
    [
      { type: 'object', properties: { metadata: { type: 'object', properties: { labels: { type: 'object' } } } } },
      /properties\[metadata\]: Forbidden: must not specify anything other than name and generateName/,
    ],
  ];
  for (const [schema, failure] of root) {
    const failures = createFailures(strategy, withField(base, schemaPath, schema));
    t.ok(
      failures.some((text) => failure.test(text)),
      JSON.stringify(schema),
      { failures },
    );
  }
  const withStatus = withField(base, 'spec.versions.0.subresources', { status: {} });
  t.strictSame(createFailures(strategy, withStatus), []);
  t.match(createFailures(strategy, withField(withStatus, schemaPath, { type: 'object', oneOf: [{}] })), [
    /fields are allowed at the root of the schema if the status subresource is enabled/,
  ]);
  t.end();
});

t.test('an endlessly nested schema is refused', (t) => {
  let schema: object = { type: 'string' };
  for (let i = 0; i < 400; i++) schema = { type: 'object', properties: { a: schema } };
  const draft = structuredClone(base);
  const [version] = (draft as unknown as Mutable<CustomResourceDefinition>).spec.versions;
  if (version !== undefined) version.schema = { openAPIV3Schema: schema };
  t.match(createFailures(strategy, draft), [/nested more than/]);
  t.end();
});

t.test('a pattern with exponential backtracking in other engines is evaluated quickly', (t) => {
  const property = { type: 'string', pattern: '^(a+)+$', default: `${'a'.repeat(60)}!` };
  const failures = createFailures(
    strategy,
    withField(base, schemaPath, { type: 'object', properties: { a: property } }),
  );
  t.match(failures, [/properties\[a\].default: .*should match '\^\(a\+\)\+\$'$/]);
  t.end();
});

t.test('protected groups need an approval annotation', (t) => {
  const draft = withField(withField(base, 'spec.group', 'a.orch.io'), 'metadata.name', 'widgets.a.orch.io');
  const key = 'api-approved.orch.io';
  const annotated = (value: string) => withField(draft, 'metadata.annotations', { [key]: value });
  t.match(createFailures(strategy, draft), [/must have approval annotation/]);
  t.strictSame(createFailures(strategy, annotated('https://example.com/1')), []);
  t.strictSame(createFailures(strategy, annotated('unapproved, experimental')), []);
  t.match(createFailures(strategy, annotated('yes')), [/either a URL or a reason/]);
  t.end();
});

t.test('the group is immutable, and the scope may change until the definition is established', (t) => {
  t.strictSame(updateFailures(strategy, base, withField(base, 'spec.names.shortNames', ['w'])), []);
  t.match(updateFailures(strategy, base, withField(base, 'spec.group', 'other.com')), [
    /spec.group: .*field is immutable/,
  ]);
  t.strictSame(
    updateFailures(strategy, base, withField(base, 'spec.scope', 'Cluster')),
    [],
    'the scope may change until established',
  );
  t.match(updateFailures(strategy, base, withField(base, 'spec.versions', versions('v2'))), [
    /status.storedVersions\[0\]: .*must appear in spec.versions/,
  ]);
  t.match(statusFailures(strategy, base, { new: { acceptedNames: { plural: 'A', kind: 'A' } } }), [
    /status.acceptedNames.plural/,
  ]);
  t.end();
});

t.test('defaults that take long are checked in steps, after everything else', (t) => {
  const alternatives = (count: number) => Array.from({ length: count }, (_, i) => ({ minLength: count - i }));
  const withDefault = (count: number, elements: number, last: string) => {
    const items = { type: 'string', anyOf: alternatives(count) };
    const value = [...Array.from({ length: elements }, () => 'a'), last];
    return withField(base, `${schemaPath}.properties.spec`, {
      type: 'object',
      properties: { list: { type: 'array', items, default: value } },
    });
  };
  const inSteps = (draft: Draft) => {
    const object = created(strategy, draft);
    const steps = strategy.contentFailures?.(object, undefined, testContext, { failures: [] });
    let pauses = 0;
    for (let step = steps?.next(); ; step = steps?.next()) {
      if (step === undefined || step.done === true) return { failures: step?.value ?? [], pauses };
      pauses += 1;
    }
  };
  const messages = (failures: readonly { field?: string; message: string }[]) =>
    failures.map(({ field, message }) => `${field}: ${message}`);
  const small = withDefault(10, 10, '');
  t.match(createFailures(strategy, small), [/must validate at least one schema \(anyOf\)/, /at least 10 chars long/]);
  t.strictSame(inSteps(small).failures, [], 'short ones are checked at once');
  const long = withDefault(100, 200, '');
  t.strictSame(createFailures(strategy, long), []);
  const { failures, pauses } = inSteps(long);
  t.match(messages(failures), [/must validate at least one schema \(anyOf\)/, /at least 100 chars long/]);
  t.ok(pauses > 3, `${pauses} pauses`);
  const work = (draft: Draft, failing: boolean) =>
    strategy.contentFailures?.(created(strategy, draft), undefined, testContext, {
      failures: failing ? failures : [],
    });
  t.strictSame(work(long, true)?.next(), { done: true, value: [] }, 'not if something else is wrong');
  const values = Array.from({ length: 30_000 }, (_, i) => `v${i}`);
  const enumerated = withField(base, `${schemaPath}.properties.spec`, {
    type: 'array',
    items: { type: 'string', enum: values },
    default: Array.from({ length: 1001 }, () => 'v29999'),
  });
  t.strictSame(messages(inSteps(enumerated).failures), [
    'spec.versions: Forbidden: the defaults require too many checks of their schemas',
  ]);
  t.end();
});
