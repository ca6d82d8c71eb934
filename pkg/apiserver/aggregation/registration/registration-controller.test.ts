import t from 'tap';
import type { APIService } from '#api/apiregistration/v1/types.gen.js';
import { plan, type Situation } from '#apiserver/aggregation/registration/registration-controller.js';

const service = (groupPriorityMinimum = 1000, more: Partial<APIService['spec']> = {}): APIService => ({
  metadata: { name: 'v1.example.com', uid: 'u' },
  spec: { group: 'example.com', version: 'v1', groupPriorityMinimum, versionPriority: 100, ...more },
});
const kept = { service: service(), management: 'true' } as const;
const onStart = { service: service(), management: 'onstart' } as const;
const once = { service: service(), management: undefined } as const;
const nothing: Situation = {
  desired: undefined,
  existing: undefined,
  existingManagement: undefined,
  atStart: false,
  settled: false,
};
const changed = service(7);

const rows: readonly [name: string, situation: Partial<Situation>, step: string][] = [
  ['nothing is wanted and nothing there', {}, 'none'],
  ['a definition comes', { desired: kept }, 'create'],
  ['deleted by a user', { desired: kept, settled: true }, 'create'],
  ['a built-in one, at first', { desired: onStart }, 'create'],
  ['a built-in one, deleted by a user', { desired: onStart, settled: true }, 'none'],
  ['one that others may replace, at first', { desired: once }, 'create'],
  [
    'it was replaced before this start',
    { desired: once, existing: service(1000, { service: {} }), atStart: true },
    'none',
  ],
  ['it was deleted', { desired: once, settled: true }, 'none'],
  ['it is as it should be', { desired: kept, existing: service(), existingManagement: 'true' }, 'none'],
  ['changed by a user', { desired: kept, existing: changed, existingManagement: 'true', settled: true }, 'update'],
  [
    'assigned to an extension server by a user',
    { desired: kept, existing: service(1000, { service: {} }), existingManagement: 'true' },
    'update',
  ],
  ['label removed by a user', { desired: kept, existing: changed, settled: true }, 'none'],
  ['another value of the label', { desired: kept, existing: changed, existingManagement: 'never' }, 'none'],
  [
    'an older server left another one',
    { desired: onStart, existing: changed, existingManagement: 'onstart', atStart: true },
    'update',
  ],
  [
    'one that was changed since the start',
    { desired: onStart, existing: changed, existingManagement: 'onstart', atStart: true, settled: true },
    'none',
  ],
  ['the definition has gone', { existing: service(), existingManagement: 'true', settled: true }, 'delete'],
  ['the group is served no more', { existing: service(), existingManagement: 'onstart', atStart: true }, 'delete'],
  ['another server has registered what it serves', { existing: service(), existingManagement: 'onstart' }, 'none'],
  ['of an extension server, without the label', { existing: service(1000, { service: {} }) }, 'none'],
];

t.test('the step for an APIService', async (t) => {
  for (const [name, situation, step] of rows) t.equal(plan({ ...nothing, ...situation }).kind, step, name);
  const step = plan({ ...nothing, desired: kept, existing: changed, existingManagement: 'true' });
  t.match(step, { service: { metadata: { uid: 'u' }, spec: { groupPriorityMinimum: 1000 } } });
});
