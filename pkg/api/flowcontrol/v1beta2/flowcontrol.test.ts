import t from 'tap';
import { flowSchemaStrategy } from '#api/flowcontrol/v1beta2/flowschema/strategy.js';
import { priorityLevelConfigurationStrategy } from '#api/flowcontrol/v1beta2/prioritylevelconfiguration/strategy.js';
import { fixedFlowSchema, fixedPriorityLevel } from '#api/flowcontrol/v1beta2/shared/validation.js';
import type { Strategy } from '#api/strategy/strategy.js';
import {
  created,
  createFailures,
  type Draft,
  statusFailures,
  testContext,
  withField,
} from '#api/testing/strategy-table.js';

const schemas = flowSchemaStrategy as unknown as Strategy;
const levels = priorityLevelConfigurationStrategy as unknown as Strategy;

const rule = {
  subjects: [{ kind: 'User', user: { name: 'alice' } }],
  resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['default'] }],
};
const schema: Draft = {
  metadata: { name: 'mine' },
  spec: { priorityLevelConfiguration: { name: 'low' }, distinguisherMethod: { type: 'ByUser' }, rules: [rule] },
};
const level: Draft = {
  metadata: { name: 'low' },
  spec: { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: {} } } },
};
const exempt: Draft = { metadata: { name: 'exempt' }, spec: { type: 'Exempt' } };
const reject = withField(level, 'spec.limited.limitResponse', { type: 'Reject' });

type Row = [draft: Draft, path: string, value: unknown, failure: RegExp];

function check(tap: Pick<typeof t, 'ok'>, strategy: Strategy, rows: Row[]): void {
  for (const [draft, path, value, failure] of rows) {
    const failures = createFailures(strategy, withField(draft, path, value));
    tap.ok(
      failures.some((text) => failure.test(text)),
      `${path} ${failure}`,
      { failures },
    );
  }
}

t.test('defaults and cells', (t) => {
  const object = created(schemas, schema);
  t.match(object, { spec: { matchingPrecedence: 1000 }, metadata: { generation: 1 } });
  t.strictSame(schemas.cells?.(object, testContext), ['mine', 'low', 1000, 'ByUser', '<unknown>', '?']);
  const other = created(levels, level);
  t.match(other, {
    spec: {
      limited: {
        assuredConcurrencyShares: 30,
        limitResponse: { queuing: { handSize: 8, queues: 64, queueLengthLimit: 50 } },
      },
    },
  });
  t.strictSame(levels.cells?.(other, testContext), ['low', 'Limited', 30, 64, 8, 50, '<unknown>']);
  t.strictSame(levels.cells?.(created(levels, exempt), testContext).slice(1, 6), [
    'Exempt',
    ...Array.from({ length: 4 }, () => '<none>'),
  ]);
  t.end();
});

t.test('valid objects pass', (t) => {
  t.strictSame(createFailures(schemas, schema), []);
  for (const draft of [level, exempt, reject]) t.strictSame(createFailures(levels, draft), []);
  for (const name of ['exempt', 'catch-all']) {
    const spec = fixedFlowSchema(name, testContext.dialect);
    t.strictSame(createFailures(schemas, { metadata: { name }, spec }), []);
    t.strictSame(createFailures(levels, { metadata: { name }, spec: fixedPriorityLevel(name) }), []);
  }
  t.end();
});

t.test('rules of flow schemas', (t) => {
  const at = 'spec.rules.0';
  check(t, schemas, [
    [schema, 'metadata.name', 'exempt', /^spec: .*spec of 'exempt' must equal the fixed value/],
    [schema, 'metadata.annotations', { 'apf.orch.io/autoupdate-spec': 'yes' }, /autoupdate-spec\]: .*boolean/],
    [schema, 'spec.matchingPrecedence', -1, /matchingPrecedence: .*must be a positive value/],
    [schema, 'spec.matchingPrecedence', 10001, /matchingPrecedence: .*must not be greater than 10000/],
    [schema, 'spec.matchingPrecedence', 1, /matchingPrecedence: .*only the schema named 'exempt'/],
    [schema, 'spec.distinguisherMethod.type', 'ByMood', /distinguisherMethod.type: Unsupported/],
    [schema, 'spec.priorityLevelConfiguration.name', '', /name: Required value: must reference a priority level/],
    [schema, 'spec.priorityLevelConfiguration.name', 'A', /priorityLevelConfiguration.name: Invalid/],
    [schema, `${at}.subjects`, [], /subjects: Required value: subjects must contain/],
    [schema, `${at}.subjects.0.kind`, 'Robot', /subjects\[0\].kind: Unsupported/],
    [schema, `${at}.subjects.0.user`, undefined, /user: Required value: user is required when/],
    [schema, `${at}.subjects.0.group`, { name: 'a' }, /group: Forbidden: group is forbidden when/],
    [schema, `${at}.subjects.0.user.name`, '', /user.name: Required/],
    [schema, `${at}.subjects.0`, { kind: 'Group', group: {} }, /group.name: Required/],
    [schema, `${at}.subjects.0`, { kind: 'ServiceAccount', serviceAccount: { name: '*' } }, /must specify namespace/],
    [
      schema,
      `${at}.subjects.0`,
      { kind: 'ServiceAccount', serviceAccount: { name: 'A', namespace: 'a' } },
      /serviceAccount.name: Invalid/,
    ],
    [schema, `${at}.resourceRules`, [], /at least one of resourceRules and nonResourceRules/],
    [schema, `${at}.resourceRules.0.verbs`, [], /verbs: Required/],
    [schema, `${at}.resourceRules.0.verbs`, ['*', 'get'], /verbs: .*must not specify other verbs/],
    [schema, `${at}.resourceRules.0.verbs`, ['fly'], /verbs: Unsupported/],
    [schema, `${at}.resourceRules.0.apiGroups`, [], /apiGroups: Required value: resource rules must supply/],
    [schema, `${at}.resourceRules.0.apiGroups`, ['*', 'a'], /other api groups/],
    [schema, `${at}.resourceRules.0.resources`, [], /resources: Required/],
    [schema, `${at}.resourceRules.0.resources`, ['*', 'a'], /other resources/],
    [schema, `${at}.resourceRules.0.namespaces`, [], /namespaces: Required value: resource rules that are not/],
    [schema, `${at}.resourceRules.0.namespaces`, ['*', 'a'], /other namespaces/],
    [schema, `${at}.resourceRules.0.namespaces`, ['A'], /namespaces\[0\]: Invalid/],
    [schema, `${at}.nonResourceRules`, [{ verbs: ['get'] }], /nonResourceURLs: Required/],
    [schema, `${at}.nonResourceRules`, [{ verbs: ['get'], nonResourceURLs: ['*', '/a'] }], /other non-resource URLs/],
    [schema, `${at}.nonResourceRules`, [{ verbs: ['get'], nonResourceURLs: [''] }], /must not be empty/],
    [schema, `${at}.nonResourceRules`, [{ verbs: ['get'], nonResourceURLs: ['a'] }], /must start with slash/],
    [schema, `${at}.nonResourceRules`, [{ verbs: ['get'], nonResourceURLs: ['/a b'] }], /white-space/],
    [schema, `${at}.nonResourceRules`, [{ verbs: ['get'], nonResourceURLs: ['/a//b'] }], /double slash/],
    [schema, `${at}.nonResourceRules`, [{ verbs: ['get'], nonResourceURLs: ['/a*b'] }], /suffix matching/],
  ]);
  t.match(statusFailures(schemas, schema, { new: { conditions: [{ type: 'A' }, { type: 'A' }, {}] } }), [
    /conditions\[1\].type: Duplicate/,
    /conditions\[2\].type: Required/,
  ]);
  t.end();
});

t.test('rules of priority levels', (t) => {
  const queuing = 'spec.limited.limitResponse.queuing';
  check(t, levels, [
    [exempt, 'metadata.name', 'other', /type must be 'Exempt' if and only if/],
    [level, 'metadata.name', 'catch-all', /spec of 'catch-all' must equal the fixed value/],
    [level, 'spec.type', 'Some', /spec.type: Unsupported/],
    [level, 'spec.limited', undefined, /limited: Required value: must not be empty when type is Limited/],
    [exempt, 'spec.limited', {}, /limited: Forbidden: must be nil if the type is not Limited/],
    [level, 'spec.limited.assuredConcurrencyShares', -1, /assuredConcurrencyShares: .*must be positive/],
    [level, 'spec.limited.limitResponse.type', 'x', /limitResponse.type: Unsupported/],
    [level, 'spec.limited.limitResponse.type', 'Reject', /queuing: Forbidden: must be nil/],
    [reject, 'spec.limited.limitResponse.type', 'Queue', /queuing: Required value: must not be empty/],
    [level, `${queuing}.queues`, -1, /queues: .*must be positive/],
    [level, `${queuing}.queues`, 10_000_001, /queues: .*must not be greater than 10000000/],
    [level, `${queuing}.queueLengthLimit`, -1, /queueLengthLimit: .*must be positive/],
    [level, `${queuing}.handSize`, -1, /handSize: .*must be positive/],
    [level, `${queuing}.handSize`, 65, /handSize: .*should not be greater than queues \(64\)/],
    [level, `${queuing}.handSize`, 20, /handSize: .*required entropy bits/],
  ]);
  t.end();
});
