import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { storeContract } from '#storage/store-contract.js';

void t.test('the store in memory', async (t) => {
  // The clock's timers do not keep a process alive that has nothing else to wait for.
  const alive = setInterval(() => {}, 60_000);
  t.teardown(() => clearInterval(alive));
  await storeContract(t, () => new MemoryStore({ clock: realClock }));
});
