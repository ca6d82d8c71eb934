import t from 'tap';
import type { FlowSchema, PriorityLevelConfiguration } from '#api/flowcontrol/v1beta2/types.gen.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { bootstrapFlowSchemas, bootstrapPriorityLevels } from '#apiserver/bootstrap/flow-control.js';
import { levelConfiguration, type Observed, planConfiguration } from '#apiserver/flowcontrol/configuration.js';

const isMandatory = ({ metadata: { name } }: FlowSchema | PriorityLevelConfiguration) =>
  name === 'exempt' || name === 'catch-all';
const mandatory = {
  schemas: bootstrapFlowSchemas(dialect).filter(isMandatory),
  levels: bootstrapPriorityLevels(dialect).filter(isMandatory),
};
const plan = (observed: Partial<Observed>) =>
  planConfiguration({ schemas: [], levels: [], busy: [], mandatory, seats: 600, ...observed });
const limited = (name: string, shares: number): PriorityLevelConfiguration => ({
  metadata: { name, uid: `uid-${name}` },
  spec: { type: 'Limited', limited: { assuredConcurrencyShares: shares, limitResponse: { type: 'Reject' } } },
});
const schema = (name: string, level: string, matchingPrecedence = 500): FlowSchema => ({
  metadata: { name },
  spec: { priorityLevelConfiguration: { name: level }, matchingPrecedence },
});
const limits = ({ levels }: ReturnType<typeof plan>) =>
  Object.fromEntries([...levels].map(([name, { limit }]) => [name, limit]));
const names = ({ schemas }: ReturnType<typeof plan>) => schemas.map((each) => each.schema.metadata.name);

t.test('the mandatory objects are there before any is read', async (t) => {
  const planned = plan({});
  t.strictSame(names(planned), ['exempt', 'catch-all'], 'schemas');
  t.strictSame(limits(planned), { exempt: undefined, 'catch-all': 600 }, 'seats');
});

t.test('seats are divided by shares, rounded up', async (t) => {
  const planned = plan({ levels: bootstrapPriorityLevels(dialect), schemas: bootstrapFlowSchemas(dialect) });
  t.strictSame(
    limits(planned),
    {
      exempt: undefined,
      'catch-all': 13,
      'global-default': 49,
      'leader-election': 25,
      'node-high': 98,
      system: 74,
      'workload-high': 98,
      'workload-low': 245,
    },
    'those of 1.24 with its default limits',
  );
  t.equal(names(planned)[0], 'exempt', 'the exempt schema is the first');
  t.equal(names(planned).at(-1), 'catch-all', 'the one for all others the last');
});

t.test('schemas that dangle and levels that are broken count as absent', async (t) => {
  const broken: PriorityLevelConfiguration = { metadata: { name: 'broken' }, spec: { type: 'Limited' } };
  const planned = plan({
    levels: [limited('a', 10), broken],
    schemas: [schema('good', 'a'), schema('dangling', 'gone'), schema('of-broken', 'broken')],
  });
  t.strictSame(names(planned), ['exempt', 'good', 'catch-all'], 'schemas');
  t.notOk(planned.levels.has('broken'), 'no such level');
  const queue = (queues: number, handSize: number): PriorityLevelConfiguration => ({
    metadata: { name: 'q' },
    spec: {
      type: 'Limited',
      limited: {
        assuredConcurrencyShares: 1,
        limitResponse: { type: 'Queue', queuing: { queues, handSize, queueLengthLimit: 1 } },
      },
    },
  });
  t.ok(levelConfiguration(queue(128, 6)), 'a hand of queues');
  t.notOk(levelConfiguration(queue(4, 5)), 'more than there are');
  t.notOk(levelConfiguration(queue(2 ** 20, 4)), 'more than the hash can deal');
  t.notOk(levelConfiguration({ ...limited('exempt', 1) }), 'the exempt level is not limited');
  t.notOk(levelConfiguration({ metadata: { name: 'a' }, spec: { type: 'Exempt' } }), 'no other level is exempt');
});

t.test('a level that was removed keeps its seats while it is busy', async (t) => {
  const [a, b] = [limited('a', 100), limited('b', 95)];
  const busy = [levelConfiguration(b)].flatMap((each) => each ?? []);
  const planned = plan({ levels: [a], schemas: [schema('s', 'b')], busy });
  t.strictSame(limits(planned), { exempt: undefined, a: 300, 'catch-all': 15, b: 285 }, 'seats');
  t.ok(planned.levels.get('b')?.quiescing, 'it is quiescing');
  t.strictSame(names(planned), ['exempt', 'catch-all'], 'no request goes there');
  const again = plan({ levels: [a, b], busy });
  t.notOk(again.levels.get('b')?.quiescing, 'until it is there again');
});
