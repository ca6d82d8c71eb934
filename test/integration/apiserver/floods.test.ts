/** What one client does to others, over both versions of HTTP, with a real server over etcd. */
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { floods, slowReaders } from '#test/integration/apiserver/floods/attacks.js';
import { startPlace } from '#test/integration/apiserver/floods/place.js';
import { Victim } from '#test/integration/apiserver/floods/victims.js';
import { withEtcd } from '#test/integration/apiserver/spec/spec-server.js';

t.test('floods of one client stop no others', withEtcd, async (t) => {
  const { port, work } = await startPlace(t);
  const path = '/api/v1/namespaces/default/configmaps';
  const administrator = new Victim('list', port, 'administrator');
  for (let i = 0; i < 20; i++) {
    const data = { a: 'x'.repeat(500_000) };
    await administrator.send('POST', path, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `large-${i}` },
      data,
    });
  }
  administrator.close();
  const [readers1, readers2] = slowReaders(path);
  // Only the administrator may list them, and attacks as well.
  const readers = [
    ['lists that are not read over HTTP/1.1', 100, readers1, 'administrator'],
    ['lists that are not read over HTTP/2', 100, readers2, 'administrator'],
  ] as const;
  const rows = [
    ...Object.entries(floods).flatMap(([name, [size, flood]], i) => {
      const few = name.startsWith('slow') ? size : Math.ceil(size / 5);
      const clients = [
        [`${name} of a user without rights`, few, flood, 'stranger-0'],
        [`${name} of anonymous clients`, few, flood, undefined],
      ] as const;
      // Bodies and headers by both; the others alternate, to save time.
      return name.startsWith('slow') ? clients : [clients[i % 2 === 0 ? 0 : 1]];
    }),
    ...readers,
  ];
  for (const [name, size, flood, token] of rows) {
    const attack = flood({ port, token, address: '127.0.1.1' }, size);
    const least = name.includes('HTTP/2') || name.startsWith('cancelled') ? Math.ceil(size / 125) : size;
    while (attack.begun() < least) await realClock.sleep(5);
    await realClock.sleep(100);
    for (const errand of work.all) {
      for (const fresh of [false, true]) {
        t.equal(await errand.run(fresh), errand.expected, `${name}: ${errand.name}${fresh ? ' anew' : ''}`);
      }
    }
    attack.stop();
    t.comment(`${name}: ${attack.begun()} begun, ${JSON.stringify([...attack.outcomes])}`);
  }
});
