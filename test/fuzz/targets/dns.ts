/** What clients and resolvers send to the name server. */
import { realClock } from '#apimachinery/clock.js';
import { fuzzDns } from '#test/fuzz/dns.js';
import type { FuzzTarget } from '#test/fuzz/target.js';

export const dns: FuzzTarget = {
  name: 'dns',
  maxHeapMiB: 256,
  async run({ seed, milliseconds, onInput }) {
    const end = realClock.monotonic() + milliseconds;
    const { inputs, refused } = fuzzDns(seed, (count) => {
      onInput(count);
      return realClock.monotonic() < end;
    });
    const heap = Math.round(process.memoryUsage().heapUsed / 2 ** 20);
    return { summary: `${inputs} inputs, ${refused} refused, heap ${heap} MiB`, problems: [] };
  },
};
