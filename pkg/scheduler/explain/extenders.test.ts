import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { explanationText } from '#cmd/orchctl/commands/why/text.js';
import { noObjects } from '#scheduler/cluster/objects.js';
import { explain } from '#scheduler/explain/explain.js';
import { ClusterCopy, Pace } from '#scheduler/explain/snapshot.js';
import type { Extender } from '#scheduler/framework/extender.js';
import { defaultProfile } from '#scheduler/plugins/profiles.js';

const allocatable = { cpu: '1', memory: '1Gi', pods: '10' };
const node = (name: string) => ({ metadata: { name }, spec: {}, status: { allocatable } });
const pod = (cpu: string): Pod => ({
  metadata: { name: 'p', namespace: 'default' },
  spec: {
    schedulerName: 'default-scheduler',
    containers: [{ name: 'c', image: 'i', resources: { requests: { cpu } } }],
  },
});

const strict = (passing: readonly string[]): Extender => ({
  name: 'http://strict',
  ignorable: false,
  isInterested: () => true,
  filter: (_pod, nodes) =>
    Promise.resolve({
      passed: new Set(nodes.map(({ name }) => name).filter((name) => passing.includes(name))),
      failed: new Map(),
      unresolvable: new Map(nodes.map(({ name }) => [name, 'wrong rack'])),
    }),
  prioritize: () => Promise.resolve(new Map([['b', 1000]])),
  preempt: () => Promise.reject(new Error('unexpected call')),
  close: () => Promise.resolve(),
});
const broken: Extender = { ...strict([]), name: 'http://broken', filter: () => Promise.reject(new Error('down')) };

async function explained(extenders: readonly Extender[], { ask = true, cpu = '100m' } = {}) {
  const nodes = ['a', 'b', 'c'].map(node);
  const copy = await ClusterCopy.of(
    { nodes, placed: [], nominated: [], objects: noObjects },
    dialect,
    new Pace(realClock),
  );
  const inquiry = { extenders, ...(ask ? { ask: new AbortController().signal } : {}) };
  return explain(pod(cpu), { copy, dialect, profiles: [defaultProfile(dialect)], scores: 5, extenders: inquiry });
}

t.test('a called extender takes part in the decision', async (t) => {
  const some = await explained([strict(['a', 'b'])]);
  t.match(some, { outcome: 'Fits', node: 'b', nodes: { total: 3, fitting: 2 } });
  t.match(some.refused, [{ plugin: 'http://strict', reasons: ['wrong rack'], nodes: 1, examples: ['c'] }]);
  t.same(some.scores[0]?.plugins[0], {
    plugin: 'http://strict',
    raw: 1000,
    normalized: 1000,
    weight: 1,
    weighted: 1000,
  });
  const points = ['filter', 'prioritize', 'preempt'];
  t.same(some.extenders, [{ extender: 'http://strict', points, called: ['filter', 'prioritize'] }]);
  t.match(
    explanationText(some),
    'Extender http://strict: called to filter, prioritize and not called to preempt, which may change the result',
  );
  const none = await explained([strict([])]);
  t.match(none, { outcome: 'FitsNowhere', remedies: [] });
  t.match(
    none.message,
    '0/3 nodes are available: 3 wrong rack. preemption: 0/3 nodes are available: 3 Preemption is not',
  );
});

t.test('reports a failing extender', async (t) => {
  const failing = await explained([broken]);
  t.match(failing, { outcome: 'ExtenderFails', message: 'extender http://broken: down', remedies: [] });
  t.match(explanationText(failing), /cannot be decided: a required extender fails.*\(failed: down\)/s);
  const ignored = await explained([{ ...broken, ignorable: true }]);
  t.match(ignored, { outcome: 'Fits', extenders: [{ error: 'down' }] });
});

t.test('reports an extender that is not called', async (t) => {
  const explanation = await explained([strict([])], { ask: false });
  t.match(explanation, { outcome: 'Fits', extenders: [{ called: [] }] });
  t.match(
    explanationText(explanation),
    'Extender http://strict: not called to filter, prioritize, preempt, which may change',
  );
  const { remedies } = await explained([strict([])], { ask: false, cpu: '2' });
  t.ok(remedies.length > 0);
  t.notOk(
    remedies.some(({ checked }) => checked),
    'its answer after a change cannot be predicted',
  );
  t.equal((await explained([{ ...broken, isInterested: () => false }])).extenders, undefined);
});
