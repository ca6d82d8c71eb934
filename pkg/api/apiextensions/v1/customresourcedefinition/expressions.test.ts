import t from 'tap';
import { parseExpression } from '#api/apiextensions/v1/customresourcedefinition/cel/parser.js';
import { CelError } from '#api/apiextensions/v1/customresourcedefinition/cel/tokens.js';
import { customResourceDefinitionStrategy } from '#api/apiextensions/v1/customresourcedefinition/strategy.js';
import type { CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.js';
import { testContext } from '#api/testing/strategy-table.js';

const environment = { variables: new Set(['self', 'oldSelf']), functions: new Set(['size', 'int', 'matches']) };

t.test('expressions that are some', (t) => {
  for (const text of [
    'true',
    'self.replicas >= 1 && self.replicas <= 10',
    'self.a == "x" || !has(self.b)',
    '!!self.a',
    'self.x ? self.y : self.z > 3',
    '--1 < 2',
    'size(self.list) > 0',
    'self.list.all(x, x > 0 && x < size(self.list))',
    'self.list.exists_one(e, e.name == "a")',
    'self.list.map(x, x > 1, x * 2).size() == 2',
    "self.name.matches('^a\\\\.b$')",
    'self["a b"] in [1, 2u, 0x1F, 3.5, 1e3, .5,]',
    '{\'a\': 1, "b": {}}.size() == 2',
    'r"\\d" == """x\n"""',
    'b"\\x41" == B\'A\' // a comment',
    'self.a.b().c[0].d == null',
    'google.protobuf.Duration{seconds: 1} == self.d',
  ]) {
    const wide = {
      variables: new Set([...environment.variables, 'google']),
      functions: new Set([...environment.functions, 'b']),
    };
    t.equal(parseExpression(text, wide).sort !== undefined, true, text);
  }
  t.end();
});

t.test('expressions that are none', (t) => {
  const rows: [text: string, failure: RegExp][] = [
    ['', /mismatched input '<EOF>'/],
    ['self.', /no viable alternative at input '<EOF>'/],
    ['self.a ==', /mismatched input '<EOF>'/],
    ['self.a = 1', /token recognition error at: '='/],
    ['self.a & self.b', /token recognition error at: '&'/],
    ['(self.a', /expecting '\)'/],
    ['[1, 2', /expecting '\]'/],
    ['{1: 2', /expecting '}'/],
    ['{1}', /expecting ':'/],
    ['self.a self.b', /extraneous input 'self'/],
    ['self ? 1', /expecting ':'/],
    ['"open', /token recognition error/],
    ['"\\q"', /token recognition error/],
    ['other', /undeclared reference to 'other'/],
    ['fly(self)', /undeclared reference to 'fly'/],
    ['self.fly()', /undeclared reference to 'fly'/],
    ['self.all(x, y)', /undeclared reference to 'y'/],
    ['self.all(1, true)', /argument is not an identifier/],
    ['self.all(x, true, true)', /undeclared reference to 'all'/],
    ['package', /reserved identifier: package/],
    ['99999999999999999999', /invalid int literal/],
    ['99999999999999999999u', /invalid uint literal/],
    [`${'('.repeat(300)}1${')'.repeat(300)}`, /expression recursion limit exceeded: 250/],
  ];
  for (const [text, failure] of rows) {
    t.throws(() => parseExpression(text, environment), { name: 'CelError', message: failure }, text.slice(0, 40));
  }
  t.end();
});

t.test('hostile texts end soon, with an error or without', (t) => {
  for (const text of [
    '-'.repeat(50_000),
    '!'.repeat(50_000),
    '['.repeat(50_000),
    '"'.repeat(50_001),
    'a.'.repeat(50_000),
  ]) {
    t.throws(() => parseExpression(text, environment), CelError, text.slice(0, 3));
  }
  t.end();
});

t.test('expressions in definitions', (t) => {
  const failures = (on: boolean, schema: object): string[] => {
    const draft = {
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'widgets', kind: 'Widget' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      },
    } as unknown as CustomResourceDefinition;
    const context = { ...testContext, gate: (name: string) => on || name !== 'CustomResourceValidationExpressions' };
    customResourceDefinitionStrategy.defaults?.(draft, context);
    customResourceDefinitionStrategy.prepareForCreate?.(draft, context);
    return (customResourceDefinitionStrategy.validateCreate?.(draft, context) ?? []).map(
      ({ field, message }) => `${field}: ${message}`,
    );
  };
  const ruled = (...rules: object[]) => ({ type: 'object', 'x-orch-validations': rules });
  const rows: [rules: object[], failure?: RegExp][] = [
    [[{ rule: 'has(self.a)' }]],
    [[{ rule: 'self.all(x, x != "")', message: 'no empty keys' }]],
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
    [[{ rule: '"text"' }], /validations\[0\].rule: .*cel expression must evaluate to a bool$/],
    [[{ rule: '1 + 2' }], /must evaluate to a bool$/],
    [[{ rule: 'nobody > 1' }], /undeclared reference to 'nobody' \(in container ''\)/],
  ];
  for (const [rules, failure] of rows) {
    const found = failures(true, { type: 'object', properties: { a: ruled(...rules) } });
    if (failure === undefined) t.strictSame(found, [], JSON.stringify(rules));
    else t.match(found, [failure], JSON.stringify(rules));
    t.strictSame(failures(false, { type: 'object', properties: { a: ruled(...rules) } }), [], 'while the gate is off');
  }
  const element = { ...ruled({ rule: 'self == oldSelf' }) };
  const list = (more: object) => ({ type: 'object', properties: { l: { type: 'array', items: element, ...more } } });
  t.match(failures(true, list({})), [
    /items.x-orch-validations\[0\].rule: .*uncorrelatable portion of the schema within .*properties\[l\]$/,
  ]);
  const keyed = { ...element, properties: { k: { type: 'string' } }, required: ['k'] };
  t.strictSame(failures(true, list({ items: keyed, 'x-orch-list-type': 'map', 'x-orch-list-map-keys': ['k'] })), []);
  t.end();
});
