/** What requests cost the API server. */
import { realClock } from '#apimachinery/clock.js';
import { fuzzCost } from '#test/fuzz/cost/cost.js';
import type { FuzzTarget } from '#test/fuzz/target.js';

export const cost: FuzzTarget = {
  name: 'cost',
  maxHeapMiB: 2048,
  async run({ seed, milliseconds, onInput }) {
    const { inputs, compared, longest, longestOf } = await fuzzCost({ seed, milliseconds, clock: realClock, onInput });
    const turn = `longest turn ${longest.toFixed(0)} ms (${longestOf})`;
    return { summary: `${inputs} shapes, ${compared} compared at twice the size, ${turn}`, problems: [] };
  },
};
