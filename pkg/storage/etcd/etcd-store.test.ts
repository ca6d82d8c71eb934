import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { prefixEnd, type Store } from '#storage/store.js';
import { storeContract } from '#storage/store-contract.js';
import { startEtcd, type TestEtcd } from '#test/etcd.js';

async function clear(store: Store): Promise<void> {
  const { kvs } = await store.range({ start: '/', end: prefixEnd('/'), keysOnly: true });
  for (const { key, modRevision } of kvs) await store.delete(key, modRevision);
}

function connect(etcd: TestEtcd, options: { watchQueueSize?: number } = {}): EtcdStore {
  return new EtcdStore({ endpoints: [etcd.endpoint], clock: realClock, random: Math.random, ...options });
}

void t.test('the store on etcd', async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const newStore = async (options: { watchQueueSize?: number } = {}) => {
    const store = connect(etcd, options);
    await clear(store);
    return store;
  };
  await t.test('contract', (t) => storeContract(t, newStore));
  await t.test('contract with watches that keep falling behind', (t) =>
    storeContract(t, () => newStore({ watchQueueSize: 1 })),
  );
});
