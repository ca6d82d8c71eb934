/** Schema rules with the messages of release 1.24. */
import t from 'tap';
import type { JSONSchemaProps } from '#api/apiextensions/v1/types.gen.js';
import { PatternMatcher } from '#api/apiextensions/v1/values/pattern.js';
import { validateValue, valueSteps } from '#api/apiextensions/v1/values/validate.js';
import { ValidationWork } from '#api/apiextensions/v1/values/validation-work.js';
import { allSteps } from '#apimachinery/async/steps.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { Patterns } from '#apimachinery/patterns/pattern.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const patterns = new Patterns();

/** Failures of an object with that value as `spec`. */
function failuresOf(schema: JSONSchemaProps, value: unknown): string[] {
  const whole = { type: 'object', properties: { spec: schema } };
  const rules = { dialect, patterns: new PatternMatcher(patterns) };
  return validateValue({ spec: value }, whole, rules, FieldPath.ofWhole).map(
    ({ field, message }) => `${field}: ${message}`,
  );
}

const text: JSONSchemaProps = { type: 'string' };
const integer: JSONSchemaProps = { type: 'integer' };
const number: JSONSchemaProps = { type: 'number' };
const either: JSONSchemaProps = { 'x-orch-int-or-string': true };
const wrongType = (expected: string, actual: string, at = 'spec') =>
  `${at}: Invalid value: "${actual}": ${at} in body must be of type ${expected}: "${actual}"`;
const refused = (value: unknown, rule: string, at = 'spec') =>
  `${at}: Invalid value: ${JSON.stringify(value)}: ${at} in body ${rule}`;

type Row = readonly [schema: JSONSchemaProps, value: unknown, ...failures: string[]];

function check(name: string, rows: readonly Row[]): void {
  t.test(name, async (t) => {
    for (const [schema, value, ...failures] of rows) {
      t.strictSame(failuresOf(schema, value), failures, `${JSON.stringify(value)} against ${JSON.stringify(schema)}`);
    }
  });
}

check('types', [
  [text, 'a'],
  [text, 1, wrongType('string', 'integer')],
  [text, 1.5, wrongType('string', 'number')],
  [text, true, wrongType('string', 'boolean')],
  [text, [], wrongType('string', 'array')],
  [text, {}, wrongType('string', 'object')],
  [text, null, wrongType('string', 'null')],
  [integer, 1],
  [integer, -1e15],
  [integer, 1.5, wrongType('integer', 'number')],
  [integer, '1', wrongType('integer', 'string')],
  [number, 1],
  [number, 1.5],
  [number, '1.5', wrongType('number', 'string')],
  [{ type: 'boolean' }, false],
  [{ type: 'boolean' }, 0, wrongType('boolean', 'integer')],
  [{ type: 'array', items: text }, {}, wrongType('array', 'object')],
  [{ type: 'object' }, [], wrongType('object', 'array')],
  [{ 'x-orch-preserve-unknown-fields': true }, 'anything'],
  [{ 'x-orch-preserve-unknown-fields': true }, null],
]);

check('null', [
  [{ ...text, nullable: true }, null],
  [{ ...text, nullable: true, minLength: 3, pattern: 'a' }, null],
  [{ type: 'object', nullable: true, required: ['a'] }, null],
  [{ ...text, nullable: true, enum: ['a'] }, null, 'spec: Unsupported value: "null": supported values: "a"'],
  [{ ...text, nullable: true, not: {} }, null],
  [either, null, wrongType('integer,string', 'null')],
]);

check('a number or a text', [
  [either, 1],
  [either, '50%'],
  [either, 1.5, wrongType('integer,string', 'number')],
  [either, true, wrongType('integer,string', 'boolean')],
  [{ ...either, pattern: '^[0-9]+%$' }, '50%'],
  [{ ...either, pattern: '^[0-9]+%$' }, 50],
  [{ ...either, pattern: '^[0-9]+%$' }, 'half', refused('half', "should match '^[0-9]+%$'")],
  [{ ...either, maximum: 10 }, 11, refused(11, 'should be less than or equal to 10')],
]);

check('texts', [
  [{ ...text, minLength: 2 }, 'ab'],
  [{ ...text, minLength: 2 }, 'a', refused('a', 'should be at least 2 chars long')],
  [{ ...text, minLength: 2 }, '𝒳', refused('𝒳', 'should be at least 2 chars long')],
  [{ ...text, maxLength: 2 }, '𝒳𝒴'],
  [{ ...text, maxLength: 2 }, 'abc', 'spec: Too long: may not be longer than 2'],
  [{ ...text, maxLength: 0 }, ''],
  [{ ...text, pattern: 'b' }, 'abc'],
  [{ ...text, pattern: '^b' }, 'abc', refused('abc', "should match '^b'")],
  [{ ...text, pattern: '^b', maxLength: 2, minLength: 9 }, 'abc', 'spec: Too long: may not be longer than 2'],
  [{ ...text, pattern: '^b', minLength: 9 }, 'abc', refused('abc', 'should be at least 9 chars long')],
  [{ ...integer, pattern: '^b', maxLength: 0 }, 12],
]);

check('formats', [
  [{ ...text, format: 'ipv4' }, '10.0.0.1'],
  [{ ...text, format: 'ipv4' }, 'x', wrongType('ipv4', 'x')],
  [{ ...text, format: 'date-time' }, 'noon', wrongType('date-time', 'noon')],
  [{ ...text, format: 'ipv4' }, 5, 'spec: Invalid value: "int64": spec in body must be of type ipv4: "int64"'],
  [{ ...text, format: 'ipv4' }, 0.5, 'spec: Invalid value: "float64": spec in body must be of type ipv4: "float64"'],
  [{ ...text, format: 'ipv4' }, true, 'spec: Invalid value: "": spec in body must be of type ipv4: ""'],
  [{ ...text, format: 'ipv4' }, [], wrongType('string', 'array')],
  [{ ...text, format: 'unheard-of' }, 'x'],
  [{ ...text, format: 'unheard-of' }, 5, wrongType('string', 'integer')],
  [{ ...integer, format: 'int32' }, 2 ** 40],
  [
    { ...text, format: 'uuid', minLength: 3 },
    'x',
    refused('x', 'should be at least 3 chars long'),
    wrongType('uuid', 'x'),
  ],
]);

check('numbers', [
  [{ ...integer, minimum: 1 }, 1],
  [{ ...integer, minimum: 1 }, 0, refused(0, 'should be greater than or equal to 1')],
  [{ ...integer, minimum: 1, exclusiveMinimum: true }, 1, refused(1, 'should be greater than 1')],
  [{ ...integer, maximum: 1 }, 1],
  [{ ...integer, maximum: 1 }, 2, refused(2, 'should be less than or equal to 1')],
  [{ ...number, maximum: 1, exclusiveMaximum: true }, 1, refused(1, 'should be less than 1')],
  [{ ...number, maximum: 1, exclusiveMaximum: true }, 0.99],
  [{ ...number, minimum: 0.5 }, 0.4, refused(0.4, 'should be greater than or equal to 0.5')],
  [{ ...integer, multipleOf: 3 }, 9],
  [{ ...integer, multipleOf: 3 }, 1e15, refused(1e15, 'should be a multiple of 3')],
  [{ ...integer, multipleOf: 3 }, 10, refused(10, 'should be a multiple of 3')],
  [{ ...number, multipleOf: 0.1 }, 0.3],
  [{ ...number, multipleOf: 0.1 }, 0.35, refused(0.35, 'should be a multiple of 0.1')],
  [
    { ...integer, multipleOf: 4, minimum: 8, maximum: 2 },
    3,
    refused(3, 'should be a multiple of 4'),
    refused(3, 'should be greater than or equal to 8'),
    refused(3, 'should be less than or equal to 2'),
  ],
  [{ ...text, minimum: 3, multipleOf: 2 }, '1'],
]);

check('enumerations', [
  [{ ...text, enum: ['a', 'b'] }, 'a'],
  [{ ...text, enum: ['a', 'b'] }, 'c', 'spec: Unsupported value: "c": supported values: "a", "b"'],
  [{ ...integer, enum: [1, 2] }, 3, 'spec: Unsupported value: 3: supported values: "1", "2"'],
  [
    { type: 'object', enum: [{ a: 1, b: 2 }], 'x-orch-preserve-unknown-fields': true },
    { b: 2, a: 1 },
  ],
  [{ ...text, enum: ['a'] }, 5, wrongType('string', 'integer'), 'spec: Unsupported value: 5: supported values: "a"'],
  [{ type: 'array', items: text, enum: [[]] }, []],
  [{ type: 'array', items: text, enum: [null] }, [], 'spec: Unsupported value: []: supported values: "null"'],
]);

check('lists', [
  [{ type: 'array', items: integer, minItems: 1 }, [1]],
  [{ type: 'array', items: integer, minItems: 1 }, [], refused(0, 'should have at least 1 items')],
  [{ type: 'array', items: integer, maxItems: 1 }, [1, 2], 'spec: Too many: 2: must have at most 1 items'],
  [
    { type: 'array', items: integer },
    [1, 'x', 2, null],
    wrongType('integer', 'string', 'spec[1]'),
    wrongType('integer', 'null', 'spec[3]'),
  ],
  [
    { type: 'array', items: { type: 'array', items: text } },
    [['a'], [1]],
    wrongType('string', 'integer', 'spec[1][0]'),
  ],
  [
    { type: 'array', items: { type: 'object', properties: { a: text } } },
    [{ a: 1 }],
    wrongType('string', 'integer', 'spec[0].a'),
  ],
]);

check('objects', [
  [{ type: 'object', properties: { a: text }, required: ['a'] }, { a: '' }],
  [
    { type: 'object', properties: { a: text }, required: ['a', 'b'] },
    {},
    'spec.a: Required value',
    'spec.b: Required value',
  ],
  [
    { type: 'object', properties: { a: integer }, required: ['b'] },
    { a: 'x' },
    wrongType('integer', 'string', 'spec.a'),
    'spec.b: Required value',
  ],
  [{ type: 'object', properties: { a: text } }, { unknown: 1 }],
  [{ type: 'object', additionalProperties: integer }, { a: 1, b: 'x' }, wrongType('integer', 'string', 'spec.b')],
  [
    { type: 'object', additionalProperties: true },
    { a: 1, b: 'x' },
  ],
  [
    { type: 'object', minProperties: 2, properties: { a: integer } },
    { a: 'x' },
    refused(1, 'should have at least 2 properties'),
  ],
  [
    { type: 'object', maxProperties: 1, additionalProperties: integer },
    { a: 'x', b: 1 },
    'spec: Too many: 2: must have at most 1 items',
  ],
  [{ type: 'object', properties: { constructor: text }, required: ['toString'] }, {}, 'spec.toString: Required value'],
]);

const whole = (words: string) => `<nil>: Invalid value: "": "spec" ${words}`;
const oneOf = 'must validate one and only one schema (oneOf).';

check('combinations', [
  [{ ...text, anyOf: [{ minLength: 3 }, { pattern: '^a' }] }, 'ab'],
  [
    { ...text, anyOf: [{ minLength: 3 }, { pattern: '^b' }] },
    'a',
    whole('must validate at least one schema (anyOf)'),
    refused('a', 'should be at least 3 chars long'),
  ],
  [
    // Of equally bad alternatives, the one with most matching parts is reported.
    {
      type: 'object',
      properties: { a: text, b: text },
      anyOf: [{ required: ['c'] }, { properties: { a: { enum: ['x'] } }, required: ['a'] }],
    },
    { a: 'y' },
    whole('must validate at least one schema (anyOf)'),
    'spec.a: Unsupported value: "y": supported values: "x"',
  ],
  [{ type: 'object', oneOf: [{ required: ['a'] }, { required: ['b'] }] }, { a: 1 }],
  [
    { type: 'object', oneOf: [{ required: ['a'] }, { required: ['b'] }] },
    {},
    whole(`${oneOf} Found none valid`),
    'spec.a: Required value',
  ],
  [
    { type: 'object', oneOf: [{ required: ['a'] }, { required: ['b'] }] },
    { a: 1, b: 2 },
    whole(`${oneOf} Found 2 valid alternatives`),
  ],
  [{ ...text, allOf: [{ minLength: 1 }, { maxLength: 2 }] }, 'ab'],
  [
    { ...text, allOf: [{ minLength: 1 }, { maxLength: 2 }] },
    'abc',
    'spec: Too long: may not be longer than 2',
    whole('must validate all the schemas (allOf)'),
  ],
  [
    { ...text, allOf: [{ minLength: 4 }, { minLength: 4 }] },
    'abc',
    refused('abc', 'should be at least 4 chars long'),
    whole('must validate all the schemas (allOf). None validated'),
  ],
  [{ ...text, not: { pattern: '^a' } }, 'b'],
  [{ ...text, not: { pattern: '^a' } }, 'ab', whole('must not validate the schema (not)')],
  [{ ...text, not: { not: { pattern: '^a' } } }, 'ab'],
  [
    { ...either, anyOf: [{ type: 'integer' }, { type: 'string' }], allOf: [{ anyOf: [{ maximum: 3 }] }] },
    4,
    whole('must validate at least one schema (anyOf)'),
    refused(4, 'should be less than or equal to 3'),
    whole('must validate all the schemas (allOf). None validated'),
  ],
]);

t.test('failures of the whole object have no field name', async (t) => {
  const rules = { dialect, patterns: new PatternMatcher(patterns) };
  const messagesOf = (value: object, schema: JSONSchemaProps) =>
    validateValue(value, schema, rules, FieldPath.ofWhole).map(({ field, message, reason }) => [
      field,
      message,
      reason,
    ]);
  t.strictSame(messagesOf({ kind: 'A' }, { type: 'object', minProperties: 2 }), [
    ['<nil>', 'Invalid value: 1:  in body should have at least 2 properties', 'FieldValueInvalid'],
  ]);
  t.strictSame(messagesOf({ a: 1 }, { type: 'object', properties: { a: text } }), [
    ['a', 'Invalid value: "integer": a in body must be of type string: "integer"', 'FieldValueTypeInvalid'],
  ]);
  t.strictSame(messagesOf({}, { type: 'object', anyOf: [{ required: ['a'] }] }), [
    ['<nil>', 'Invalid value: "": "" must validate at least one schema (anyOf)', 'FieldValueInvalid'],
    ['a', 'Required value', 'FieldValueRequired'],
  ]);
});

t.test('of very many failures the first keep their messages', async (t) => {
  const failures = failuresOf(
    { type: 'array', items: integer },
    Array.from({ length: 50_000 }, () => 'x'),
  );
  t.equal(failures.length, 50_000, 'all failures are counted');
  t.equal(failures[0], wrongType('integer', 'string', 'spec[0]'));
});

t.test('schemas require a limited number of checks', (t) => {
  const count = <T>(length: number, of: (i: number) => T): T[] => Array.from({ length }, (_, i) => of(i));
  const list = (items: object) => ({ type: 'array', items }) as JSONSchemaProps;
  const rules = { dialect, patterns: new PatternMatcher(patterns) };
  let branching: JSONSchemaProps = { type: 'string' };
  for (let i = 0; i < 24; i++) branching = { allOf: [branching, branching] };
  const rows: [name: string, schema: JSONSchemaProps, value: unknown][] = [
    ['alternatives', list({ oneOf: count(500, () => ({ maxLength: 1 })) }), count(100, () => 'a')],
    ['nested alternatives', branching, 'a'],
    ['enumerated values', list({ enum: count(1000, (i) => `v${i}`) }), count(400, (i) => `w${i}`)],
    ['required members', list({ type: 'object', required: count(1000, (i) => `k${i}`) }), count(400, () => ({}))],
  ];
  for (const [name, schema, value] of rows) {
    const steps = valueSteps(value, schema, { ...rules, work: new ValidationWork(10_000) }, FieldPath.ofWhole);
    t.throws(() => allSteps(steps), { message: 'a schema requires too many checks of an object' }, name);
  }
  let pauses = 0;
  const steps = valueSteps(
    count(20_000, (i) => i),
    list({ type: 'integer' }),
    rules,
    FieldPath.ofWhole,
  );
  while (steps.next().done !== true) pauses += 1;
  t.ok(pauses >= 8, `${pauses} pauses for twenty thousand values`);
  t.end();
});
