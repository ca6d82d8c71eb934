/** What peers of exec, attach and port-forward send. */
import { realClock } from '#apimachinery/clock.js';
import { fuzzSpdy } from '#test/fuzz/spdy/spdy.js';
import type { FuzzTarget } from '#test/fuzz/target.js';

export const spdy: FuzzTarget = {
  name: 'spdy',
  maxHeapMiB: 256,
  async run({ seed, milliseconds, onInput }) {
    const end = realClock.monotonic() + milliseconds;
    const { inputs, streams, refused } = await fuzzSpdy(seed, (count) => {
      onInput(count);
      return realClock.monotonic() < end;
    });
    const heap = Math.round(process.memoryUsage().heapUsed / 2 ** 20);
    return { summary: `${inputs} inputs, ${streams} streams, ${refused} refused, heap ${heap} MiB`, problems: [] };
  },
};
