import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { measureUsage } from '#etcd-admin/usage.js';
import { MemoryStore } from '#storage/memory/memory-store.js';

t.test('usage is measured by resource and by namespace', async (t) => {
  const store = new MemoryStore({ clock: realClock });
  t.teardown(() => store.close());
  for (let i = 0; i < 250; i++) await store.create(`/registry/pods/web/p${i}`, Buffer.alloc(100));
  await store.create('/registry/pods/other/large', Buffer.alloc(5000));
  await store.create('/registry/nodes/n1', Buffer.alloc(100));
  await store.create('/registry/example.com/widgets/web/w', Buffer.alloc(20_000));
  await store.create('/registry/example.com/gadgets/g', Buffer.alloc(1));
  await store.create('/registry2/pods/web/none', Buffer.alloc(1_000_000));
  const pages: number[] = [];
  const { total, resources, namespaces, revision } = await measureUsage(store, '/registry/', (read) =>
    pages.push(read),
  );
  t.equal(revision, await store.currentRevision());
  t.equal(total.objects, 254);
  t.same(pages, [200, 254]);
  t.match(
    resources.map(({ name, objects }) => [name, objects]),
    [
      ['pods', 251],
      ['widgets.example.com', 1],
      ['nodes', 1],
      ['gadgets.example.com', 1],
    ],
  );
  t.match(resources[0]?.largest, { key: '/registry/pods/other/large', bytes: 5026 });
  t.match(
    namespaces.map(({ name, objects }) => [name, objects]),
    [
      ['web', 251],
      ['other', 1],
    ],
  );
});

t.test('an empty store has no usage', async (t) => {
  const store = new MemoryStore({ clock: realClock });
  t.teardown(() => store.close());
  t.match(await measureUsage(store, '/registry/', () => undefined), { total: { objects: 0, bytes: 0 }, resources: [] });
});
