/** The store over a real kine, on each database that the machine has. */
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { EtcdLeaderLock } from '#storage/etcd/leader-lock.js';
import { kineWarning } from '#storage/etcd/server-kind.js';
import { prefixEnd } from '#storage/sorted-map.js';
import { storeContract } from '#storage/store-contract.js';
import { databases } from '#test/databases.js';
import { noKine, startKine } from '#test/kine.js';

t.setTimeout(300_000);

const record = {
  ...{ holderIdentity: 'me', leaseDurationSeconds: 15, leaderTransitions: 0 },
  ...{ acquireTime: '2026-01-01T00:00:00Z', renewTime: '2026-01-01T00:00:00Z' },
};
const abilities = { joinsKeys: false, keepsLifetimes: false, refusesOldCompactions: false };

for (const [name, start] of Object.entries(databases)) {
  const skip = noKine || (start === undefined && `no ${name} on this machine`);
  void t.test(`kine over ${name}`, { skip }, async (t) => {
    const servers = await start?.();
    t.teardown(() => servers?.stop());
    const kine = await startKine(servers?.address('contract') ?? '');
    t.teardown(() => kine.stop());
    const connect = (watchQueueSize = 4096) =>
      new EtcdStore({ endpoints: [kine.endpoint], clock: realClock, random: Math.random, watchQueueSize });
    const newStore = async (watchQueueSize?: number) => {
      const store = connect(watchQueueSize);
      const { kvs } = await store.range({ start: '/', end: prefixEnd('/'), keysOnly: true });
      for (const { key, modRevision } of kvs) await store.delete(key, modRevision);
      return store;
    };
    await t.test('contract', (t) => storeContract(t, () => newStore(), { abilities }));
    await t.test('contract with watches that keep falling behind', (t) =>
      storeContract(t, () => newStore(1), { abilities }),
    );
    await t.test('its operator is told once what it lacks', async (t) => {
      const warnings: string[] = [];
      const log = { ...silentLogger, warn: (text: unknown) => void warnings.push(String(text)) };
      const store = new EtcdStore({ endpoints: [kine.endpoint], clock: realClock, random: Math.random, log });
      t.teardown(() => store.close());
      await store.currentRevision();
      await store.currentRevision();
      t.same(warnings, [kineWarning]);
    });
    await t.test('a lock of kind etcdleases is refused', async (t) => {
      const where = { namespace: 'system', name: 'scheduler' };
      const lock = new EtcdLeaderLock({ endpoints: [kine.endpoint], ...where, clock: realClock, random: Math.random });
      t.teardown(() => lock.close());
      const { signal } = new AbortController();
      await lock.read(signal);
      const message = /is kine, which cannot keep a lease alive: use --leader-elect-resource-lock=leases$/;
      await t.rejects(lock.write(record, signal), { message });
    });
  });
}
