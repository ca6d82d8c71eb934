import t from 'tap';
import { controllerPages } from '#controllers/debug-pages.js';
import type { ControllerReport } from '#controllers/manager.js';

const time = '2022-05-03T00:00:00.000000Z';
const reports: ControllerReport[] = [
  {
    name: 'deployment',
    state: 'running',
    loops: [
      {
        name: 'deployment',
        concurrency: 5,
        lastSync: time,
        counts: { waiting: 7, working: 1, retrying: 1, scheduled: 0 },
        waiting: [],
        working: [{ key: 'shop/web', seconds: 1.5, again: false }],
        retrying: [{ key: 'shop/db', failures: 3, nextTry: time, error: 'no\n\u001b[31mroom' }],
        scheduled: [],
        errors: [{ key: 'shop/db', time, error: 'no room', recovered: time }],
      },
    ],
  },
  { name: 'tokencleaner', state: 'disabled', reason: '--controllers does not choose it', loops: [] },
];

t.test('pages of all controllers and of one', (t) => {
  const limits: number[] = [];
  const pages = controllerPages(['deployment', 'tokencleaner'], (limit) => {
    limits.push(limit);
    return reports;
  });
  t.same(Object.keys(pages), [
    '/debug/controllers',
    '/debug/controllers/deployment',
    '/debug/controllers/tokencleaner',
  ]);
  t.same(pages['/debug/controllers']?.().data, { controllers: reports });
  t.same(pages['/debug/controllers/tokencleaner']?.().data, { controllers: [reports[1]] });
  t.same(limits, [100, 1000]);
  t.same(pages['/debug/controllers']?.().text().split('\n'), [
    'CONTROLLER    LOOP        STATE                                       WAITING  WORKING  RETRYING  SCHEDULED  LAST SYNC',
    `deployment    deployment  running                                     7        1        1         0          ${time}`,
    'tokencleaner              disabled: --controllers does not choose it',
    '',
    'deployment works on shop/web for 1.500 s',
    `deployment retries shop/db at ${time} after 3 failures: no [31mroom`,
    `deployment failed on shop/db at ${time}, recovered at ${time}: no room`,
    '',
  ]);
  t.end();
});
