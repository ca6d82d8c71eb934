import t from 'tap';
import { planPlugins } from '#nodeagent/plugins/plan.js';

const a = '/p/a.sock';

t.test('what to do with a socket', async (t) => {
  const rows: {
    name: string;
    socket?: string;
    registered?: string;
    busy?: boolean;
    waitMs?: number;
    plan: object;
  }[] = [
    { name: 'a new one is registered', socket: '1', plan: { register: [a] } },
    { name: 'a registered one stays', socket: '1', registered: '1', plan: {} },
    { name: 'one that is gone is deregistered', registered: '1', plan: { deregister: [a] } },
    {
      name: 'one that was made again is deregistered first',
      socket: '2',
      registered: '1',
      plan: { deregister: [a] },
    },
    { name: 'one with work in progress waits for its end', socket: '1', busy: true, plan: {} },
    { name: 'one that failed waits', socket: '1', waitMs: 500, plan: { againMs: 500 } },
    { name: 'its deregistration waits, too, as in 1.24', registered: '1', waitMs: 1, plan: { againMs: 1 } },
    { name: 'a registered one needs no other plan', socket: '1', registered: '1', waitMs: 500, plan: {} },
  ];
  for (const { name, socket, registered, busy = false, waitMs = 0, plan } of rows) {
    const actual = planPlugins({
      sockets: new Map(socket === undefined ? [] : [[a, socket]]),
      registered: new Map(registered === undefined ? [] : [[a, registered]]),
      busy: new Set(busy ? [a] : []),
      waitMs: () => waitMs,
    });
    t.same(actual, { deregister: [], register: [], ...plan }, name);
  }
});

t.test('the next plan is due when the first wait ends', async (t) => {
  const { againMs } = planPlugins({
    sockets: new Map([
      ['/p/a', '1'],
      ['/p/b', '1'],
    ]),
    registered: new Map(),
    busy: new Set(),
    waitMs: (path) => (path === '/p/a' ? 700 : 300),
  });
  t.equal(againMs, 300);
});
