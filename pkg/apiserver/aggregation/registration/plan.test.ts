import t from 'tap';
import type { APIService } from '#api/apiregistration/v1/types.gen.js';
import { plan, type Situation } from '#apiserver/aggregation/registration/plan.js';

const service = (groupPriorityMinimum = 1000, more: Partial<APIService['spec']> = {}): APIService => ({
  metadata: { name: 'v1.example.com', uid: 'u' },
  spec: { group: 'example.com', version: 'v1', groupPriorityMinimum, versionPriority: 100, ...more },
});
const kept = { service: service(), management: 'true' } as const;
const onStart = { service: service(), management: 'onstart' } as const;
const once = { service: service(), management: undefined } as const;
const nothing: Situation = {
  wanted: undefined,
  found: undefined,
  foundManagement: undefined,
  atStart: false,
  settled: false,
};
const changed = service(7);

const rows: readonly [name: string, situation: Partial<Situation>, step: string][] = [
  ['nothing is wanted and nothing there', {}, 'none'],
  ['a definition comes', { wanted: kept }, 'create'],
  ['somebody deletes it', { wanted: kept, settled: true }, 'create'],
  ['a built-in one, at first', { wanted: onStart }, 'create'],
  ['a built-in one that somebody has deleted', { wanted: onStart, settled: true }, 'none'],
  ['one that others may replace, at first', { wanted: once }, 'create'],
  ['it was replaced before this start', { wanted: once, found: service(1000, { service: {} }), atStart: true }, 'none'],
  ['it was deleted', { wanted: once, settled: true }, 'none'],
  ['it is as it should be', { wanted: kept, found: service(), foundManagement: 'true' }, 'none'],
  ['somebody changes it', { wanted: kept, found: changed, foundManagement: 'true', settled: true }, 'update'],
  [
    'somebody hands it to a server',
    { wanted: kept, found: service(1000, { service: {} }), foundManagement: 'true' },
    'update',
  ],
  ['somebody takes the label off', { wanted: kept, found: changed, settled: true }, 'none'],
  ['another value of the label', { wanted: kept, found: changed, foundManagement: 'never' }, 'none'],
  [
    'an older server left another one',
    { wanted: onStart, found: changed, foundManagement: 'onstart', atStart: true },
    'update',
  ],
  [
    'one that was changed since the start',
    { wanted: onStart, found: changed, foundManagement: 'onstart', atStart: true, settled: true },
    'none',
  ],
  ['the definition has gone', { found: service(), foundManagement: 'true', settled: true }, 'delete'],
  ['the group is served no more', { found: service(), foundManagement: 'onstart', atStart: true }, 'delete'],
  ['another server has registered what it serves', { found: service(), foundManagement: 'onstart' }, 'none'],
  ['somebody else’s, of a server', { found: service(1000, { service: {} }) }, 'none'],
];

t.test('what becomes of an APIService', async (t) => {
  for (const [name, situation, step] of rows) t.equal(plan({ ...nothing, ...situation }).kind, step, name);
  const step = plan({ ...nothing, wanted: kept, found: changed, foundManagement: 'true' });
  t.match(step, { service: { metadata: { uid: 'u' }, spec: { groupPriorityMinimum: 1000 } } });
});
