import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { storeContract } from '#storage/store-contract.js';

void t.test('the memory store meets the store contract', async (t) => {
  // The clock's timers do not keep a process alive that waits for nothing else.
  const alive = setInterval(() => {}, 60_000);
  t.teardown(() => clearInterval(alive));
  await storeContract(t, () => new MemoryStore({ clock: realClock }));
});
