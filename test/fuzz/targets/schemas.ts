/** Schemas of definitions, and what objects are held to by them. */
import { realClock } from '#apimachinery/clock.js';
import { fuzzSchemas } from '#test/fuzz/schemas.js';
import type { FuzzTarget } from '#test/fuzz/target.js';

export const schemas: FuzzTarget = {
  name: 'schemas',
  maxHeapMiB: 512,
  async run({ seed, milliseconds, onInput }) {
    const end = realClock.monotonic() + milliseconds;
    const { inputs, fitting } = fuzzSchemas(seed, (count) => {
      onInput(count);
      return realClock.monotonic() < end;
    });
    return { summary: `${inputs} values, ${fitting} of which fit`, problems: [] };
  },
};
