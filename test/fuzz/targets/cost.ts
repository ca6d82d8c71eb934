/** What requests cost the API server. */
import { realClock } from '#apimachinery/clock.js';
import { fuzzCost } from '#test/fuzz/cost/cost.js';
import type { FuzzTarget } from '#test/fuzz/target.js';

export const cost: FuzzTarget = {
  name: 'cost',
  maxHeapMiB: 2048,
  async run({ seed, milliseconds, onInput }) {
    const { inputs, compared, longest } = await fuzzCost({ seed, milliseconds, clock: realClock, onInput });
    const summary = `${inputs} shapes, ${compared} compared at twice the size, longest turn ${longest.toFixed(0)} ms`;
    return { summary, problems: [] };
  },
};
