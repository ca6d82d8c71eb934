import t from 'tap';
import { customResourceDefinitionStrategy } from '#api/apiextensions/v1/customresourcedefinition/strategy.js';
import type { CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.js';
import { testContext } from '#api/testing/strategy-table.js';
import type { Draft } from '#apimachinery/draft.js';

t.test('invalid and too expensive expressions are refused', (t) => {
  const failures = (on: boolean, schema: object): string[] => {
    const draft = {
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'widgets', kind: 'Widget' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      },
    } as unknown as Draft<CustomResourceDefinition>;
    const context = { ...testContext, gate: (name: string) => on || name !== 'CustomResourceValidationExpressions' };
    customResourceDefinitionStrategy.defaults?.(draft, context);
    customResourceDefinitionStrategy.prepareForCreate?.(draft, context);
    return (customResourceDefinitionStrategy.validateCreate?.(draft, context) ?? []).map(
      ({ field, message }) => `${field}: ${message}`,
    );
  };
  const properties = {
    a: { type: 'string' },
    n: { type: 'integer' },
    m: { type: 'object', additionalProperties: { type: 'string' } },
    l: { type: 'array', items: { type: 'integer' } },
  };
  const ruled = (...rules: object[]) => ({ type: 'object', 'x-orch-validations': rules });
  const rows: [rules: object[], failure?: RegExp][] = [
    [[{ rule: 'has(self.a)' }]],
    [[{ rule: 'self.m.all(x, x != "")', message: 'no empty keys' }]],
    [[{ rule: ' ' }], /validations\[0\].rule: Required value: rule is not specified$/],
    [[{}], /validations\[0\].rule: Required value: rule is not specified$/],
    [[{ rule: 'true', message: ' ' }], /validations\[0\].message: .*message must be non-empty if specified$/],
    [[{ rule: 'true', message: 'a\nb' }], /validations\[0\].message: .*message must not contain line breaks$/],
    [
      [{ rule: 'true\n&& true' }],
      /validations\[0\].message: Required value: message must be specified if rule contains/,
    ],
    [
      [{ rule: 'true' }, { rule: '1 +' }],
      /validations\[1\].rule: .*compilation failed: ERROR: <input>:1:4: Syntax error/,
    ],
    [[{ rule: 'self.b == 1' }], /compilation failed: ERROR: <input>:1:5: undefined field 'b'/],
    [
      [{ rule: 'self.n == "a"' }],
      /compilation failed: ERROR: <input>:1:8: found no matching overload for '_==_' applied to '\(int, string\)'/,
    ],
    [
      [{ rule: 'self.l.all(x, self.l.all(y, x + y > 0))' }],
      /Forbidden: estimated rule cost exceeds budget by factor of more than 100x \(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared\)$/,
    ],
    [[{ rule: '"text"' }], /validations\[0\].rule: .*cel expression must evaluate to a bool$/],
    [[{ rule: '1 + 2' }], /must evaluate to a bool$/],
    [[{ rule: 'nowhere > 1' }], /undeclared reference to 'nowhere' \(in container ''\)/],
  ];
  for (const [rules, failure] of rows) {
    const schema = { type: 'object', properties: { a: { ...ruled(...rules), properties } } };
    const actual = failures(true, schema);
    if (failure === undefined) t.strictSame(actual, [], JSON.stringify(rules));
    else t.match(actual[0], failure, JSON.stringify(rules));
    t.strictSame(failures(false, schema), [], 'while the gate is off');
  }
  const element = { ...ruled({ rule: 'self == oldSelf' }) };
  const list = (more: object) => ({ type: 'object', properties: { l: { type: 'array', items: element, ...more } } });
  t.match(failures(true, list({})), [
    /items.x-orch-validations\[0\].rule: .*uncorrelatable portion of the schema within .*properties\[l\]$/,
  ]);
  const keyed = { ...element, properties: { k: { type: 'string' } }, required: ['k'] };
  t.strictSame(failures(true, list({ items: keyed, 'x-orch-list-type': 'map', 'x-orch-list-map-keys': ['k'] })), []);
  // Two hundred rules, each cheap enough, exceed the total limit.
  const each = { type: 'string', 'x-orch-validations': [{ rule: 'self.contains(self)' }], maxLength: 2500 };
  const costly = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`p${i}`, each]));
  const [first, ...others] = failures(true, { type: 'object', properties: costly });
  t.match(
    first,
    /\.rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema/,
  );
  t.equal(others.length, 4);
  t.match(
    others.at(-1),
    /openAPIV3Schema: Forbidden: x-orch-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by/,
  );
  t.end();
});
