/** The decoders of requests' bodies. */
import { realClock } from '#apimachinery/clock.js';
import { type Format, fuzz } from '#test/fuzz/codec.js';
import type { FuzzTarget } from '#test/fuzz/target.js';

/** What decoding keeps beyond inputs and samples. */
const maxHeapMiB = 256;

const codec = (format: Format): FuzzTarget => ({
  name: format,
  maxHeapMiB,
  async run({ seed, milliseconds, onInput }) {
    const { inputs, refused, slowest } = fuzz({ format, seed, milliseconds, clock: realClock, onInput });
    const heap = Math.round(process.memoryUsage().heapUsed / 2 ** 20);
    const summary = `${inputs} inputs, ${refused} refused, slowest ${slowest.toFixed(1)} ms, heap ${heap} MiB`;
    return { summary, problems: [] };
  },
});

export const json = codec('json');
export const protobuf = codec('protobuf');
