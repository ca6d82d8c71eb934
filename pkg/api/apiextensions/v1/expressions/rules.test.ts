/** Compares CEL rules with the results of release 1.24. */
import t from 'tap';
import { escapeName, unescapeName } from '#api/apiextensions/v1/expressions/escaping.js';
import { before, object, properties, ruleCases } from '#api/apiextensions/v1/expressions/rule-cases.js';
import { RuleValidator } from '#api/apiextensions/v1/expressions/rule-validation.js';
import { compileRules } from '#api/apiextensions/v1/expressions/rules.js';
import { Structural } from '#api/apiextensions/v1/structural/structural.js';
import type { JSONSchemaProps } from '#api/apiextensions/v1/types.gen.js';
import { allSteps } from '#apimachinery/async/steps.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { Patterns } from '#apimachinery/patterns/pattern.js';

const patterns = new Patterns();

function judged(schema: object, now: object, old?: object) {
  const validator = RuleValidator.of(new Structural(schema as JSONSchemaProps, dialect));
  const { failures = [], cost = 0 } = (validator && allSteps(validator.validate(now, old, patterns))) ?? {};
  return { messages: failures.map(({ field, message }) => `${field}: ${message}`), cost };
}

const ruled = (...rules: (string | object)[]) => ({
  'x-kubernetes-validations': rules.map((rule) => (typeof rule === 'string' ? { rule } : rule)),
});

t.test('rules have the verdict and the cost of 1.24', (t) => {
  for (const [rule, verdict, maxCost, cost] of ruleCases) {
    const schema = { type: 'object', properties, ...ruled(rule) } as JSONSchemaProps;
    const [compiled] = compileRules(new Structural(schema, dialect), true);
    const error = compiled?.error?.split('\n')[0]?.replace('compilation failed: ERROR: <input>:', '');
    if (error !== undefined) {
      t.equal(error, verdict, rule);
      continue;
    }
    t.equal((compiled?.maxCost ?? 0) >= 1e15 ? Infinity : compiled?.maxCost, maxCost, `maximum cost: ${rule}`);
    const actual = judged(schema, object, before);
    t.equal(actual.cost, cost, `actual cost: ${rule}`);
    const [message = 'holds'] = actual.messages.map((text) => text.replace('<nil>: Invalid value: "object": ', ''));
    const short = message.startsWith('failed rule')
      ? 'fails'
      : message.replace(/( evaluating rule: |: call arguments did not match).*/s, '');
    t.equal(short, verdict, rule);
  }
  t.end();
});

t.test('failures have the message of the rule and the path of the value', (t) => {
  const schema = {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        ...ruled({ rule: 'self.min <= self.max', message: 'min must not be more than max' }, 'self.min > 0'),
        properties: {
          min: { type: 'integer' },
          max: { type: 'integer' },
          tags: { type: 'object', additionalProperties: { type: 'string', ...ruled("self != ''") } },
          list: { type: 'array', items: { type: 'string', nullable: true, ...ruled("self.startsWith('a')") } },
          any: { 'x-kubernetes-int-or-string': true, ...ruled('self > 1') },
          kept: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, ...ruled('self == self') },
        },
      },
    },
  };
  t.same(
    judged(schema, { spec: { min: 1, max: 2, tags: { a: 'b' }, list: ['a', null], any: 2, kept: { x: 1 } } }).messages,
    [],
  );
  t.same(judged(schema, { spec: { min: 0, max: -1, tags: { 'a/b': '' }, list: ['a', 'b'], any: '1' } }).messages, [
    'spec: Invalid value: "object": min must not be more than max',
    'spec: Invalid value: "object": failed rule: self.min > 0',
    `spec.tags[a/b]: Invalid value: "string": failed rule: self != ''`,
    `spec.list[1]: Invalid value: "string": failed rule: self.startsWith('a')`,
    `spec.any: Invalid value: "": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self > 1`,
  ]);
  t.same(judged(schema, { spec: {} }).messages, [
    'spec: Invalid value: "object": no such key: min evaluating rule: min must not be more than max',
    'spec: Invalid value: "object": no such key: min evaluating rule: self.min > 0',
  ]);
  t.end();
});

t.test('rules with oldSelf apply to updates of correlated values', (t) => {
  const item = {
    type: 'object',
    properties: { k: { type: 'string' }, v: { type: 'integer' } },
    ...ruled('self.v >= oldSelf.v'),
  };
  const schema = {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { fixed: { type: 'string', ...ruled('self == oldSelf') } } },
      map: { type: 'array', items: item, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] },
      list: { type: 'array', items: item },
    },
  };
  const old = { spec: { fixed: 'a' }, map: [{ k: 'a', v: 5 }], list: [{ v: 5 }] };
  t.same(
    judged(schema, { spec: { fixed: 'b' }, map: [{ k: 'a', v: 1 }] }).messages,
    [],
    'none of them is about new objects',
  );
  t.same(
    judged(
      schema,
      {
        spec: { fixed: 'b' },
        map: [
          { k: 'b', v: 1 },
          { k: 'a', v: 4 },
        ],
        list: [{ v: 1 }],
      },
      old,
    ).messages,
    [
      'spec.fixed: Invalid value: "string": failed rule: self == oldSelf',
      'map[1]: Invalid value: "object": failed rule: self.v >= oldSelf.v',
    ],
  );
  t.same(judged(schema, { spec: { fixed: 'b' } }, { spec: {} }).messages, [], 'new values are not judged');
  t.end();
});

t.test('rules see declared members only', (t) => {
  const embedded = {
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    ...ruled("self.kind == 'K' && self.metadata.name == 'n'"),
  };
  const schema = (...rules: string[]) => ({
    type: 'object',
    properties: {
      'a.b-c/d': { type: 'integer' },
      namespace: { type: 'string' },
      __x: { type: 'string' },
      '1st': { type: 'string' },
      open: {
        type: 'object',
        properties: { declared: { type: 'string' } },
        'x-kubernetes-preserve-unknown-fields': true,
      },
      embedded,
      set: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
      until: { type: 'string', format: 'date-time' },
      none: { type: 'string', nullable: true },
    },
    ...ruled(...rules),
  });
  const object = {
    kind: 'W',
    metadata: { name: 'w', labels: {} },
    'a.b-c/d': 1,
    namespace: 'n',
    __x: 'y',
    open: { declared: 'k', other: 1 },
    embedded: { kind: 'K', apiVersion: 'v', metadata: { name: 'n' } },
    set: ['a', 'b'],
    until: '2022-01-01T00:00:00Z',
    none: null,
  };
  const holds = [
    'self.a__dot__b__dash__c__slash__d == 1',
    "self.__namespace__ == 'n'",
    "self.__underscores__x == 'y'",
    "self.metadata.name == 'w' && self.kind == 'W'",
    '!has(self.none) && !has(self.metadata.generateName)',
    "self.set == ['b', 'a'] && self.set + ['a', 'c'] == ['a', 'b', 'c']",
    "self.until < timestamp('2023-01-01T00:00:00Z') && self.until.getFullYear() == 2022",
    "self.embedded.metadata.name == 'n'",
  ];
  t.same(judged(schema(...holds), object).messages, []);
  const unseen = ['self.metadata.labels', 'self.open.other', 'self.__1st', 'self.1st'].map((path) => `has(${path})`);
  const compiled = compileRules(new Structural(schema(...unseen) as JSONSchemaProps, dialect), true);
  for (const { error, rule } of compiled) t.match(error, /^compilation failed: /, rule.rule);
  t.equal(escapeName('1st'), undefined);
  t.equal(escapeName('a b'), undefined);
  for (const name of ['a__b', 'true', 'a-b.c/d', '__dot__', 'x__']) t.equal(unescapeName(escapeName(name) ?? ''), name);
  t.equal(unescapeName('__nothing__'), undefined);
  t.end();
});

t.test('rules beyond the cost limit are aborted early', (t) => {
  const numbers = Array.from({ length: 1500 }, (_, i) => i);
  const list = { type: 'array', items: { type: 'integer' } };
  const text = { type: 'string' };
  const hostile = [
    'self.l.all(x, self.l.all(y, x != -y - 1))',
    'self.l.all(x, self.l.map(y, y + 1).size() > 0)',
    'self.l.all(x, (self.s + self.s).size() > 0 && self.s.matches("^(a|b|ab)*c$") == false)',
    `self.l.all(x, ${Array.from({ length: 9 }, () => 'self.l == self.l').join(' && ')})`,
    'self.l.all(x, (self.t + self.t).size() > 0)',
    'self.l.all(x, self.s.matches("(x{0,30}){1,30}y") == false)',
    `self.l.all(x, ${'[x]'.padEnd(3)}.map(y, self.s + self.s)${'.map(y, y + y)'.repeat(40)}.size() > 0)`,
    'self.l.all(x, self.s.replace("", self.s).replace("", self.s).size() > 0)',
  ];
  for (const rule of hostile) {
    const schema = {
      type: 'object',
      properties: { l: list, s: text, t: { ...list, 'x-kubernetes-list-type': 'set' } },
      ...ruled(rule, 'false'),
    };
    const { messages } = judged(schema, { l: numbers, s: 'ab'.repeat(20_000), t: numbers });
    t.equal(messages.length, 1, `${rule.slice(0, 60)}: no later rule is evaluated`);
    t.match(messages[0], /no further validation rules will be run|program instantiation failed|text is too large/);
  }
  // Each is allowed by itself. Searching for an impossible match has a high cost but takes little time.
  const expensive = '[0,1,2,3,4,5,6,7,8,9].all(x, !self.matches("^(b|c|d|e|f|g|h|i|j|k)$"))';
  const many = {
    type: 'object',
    properties: { l: { type: 'array', items: { type: 'string', maxLength: 10_000, ...ruled(expensive) } } },
  };
  const { messages, cost } = judged(many, { l: Array.from({ length: 300 }, () => 'x'.repeat(10_000)) });
  t.match(
    messages.at(-1),
    /validation failed due to running out of cost budget, no further validation rules will be run$/,
  );
  t.ok(cost <= 10_000_001);
  t.end();
});

t.test('expensive rules run in steps', async (t) => {
  const numbers = { type: 'array', items: { type: 'integer' } };
  const expensive = { ...numbers, ...ruled('self.all(a, self.all(b, a + b >= 0))') };
  const validator = RuleValidator.of(
    new Structural(
      { type: 'object', properties: { lists: { type: 'array', items: expensive } } } as JSONSchemaProps,
      dialect,
    ),
  );
  if (validator === undefined) throw new Error('no rules');
  const lists = (count: number) => ({
    lists: Array.from({ length: count }, () => Array.from({ length: 100 }, () => 1)),
  });
  const stepsOf = (object: object) => {
    const steps = validator.validate(object, undefined, patterns);
    for (let pauses = 0; ; pauses++) {
      const { done, value } = steps.next();
      if (done === true) return { pauses, failures: value.failures.length, cost: value.cost };
    }
  };
  const one = stepsOf(lists(1));
  t.equal(one.failures, 0);
  t.ok(one.cost > 20_000, `${one.cost}`);
  t.match(stepsOf(lists(5)), { pauses: 5, failures: 0, cost: 5 * one.cost }, 'a pause after each expensive rule');
});
