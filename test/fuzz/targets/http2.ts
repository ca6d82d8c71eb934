/** The frames that the client of etcd reads, and those that the server reads. */
import { realClock } from '#apimachinery/clock.js';
import { fuzzHttp2 } from '#test/fuzz/http2/http2.js';
import { recordEtcd } from '#test/fuzz/http2/recording.js';
import { fuzzHttp2Server } from '#test/fuzz/http2/server.js';
import type { FuzzTarget } from '#test/fuzz/target.js';

export const http2: FuzzTarget = {
  name: 'http2',
  maxHeapMiB: 256,
  async run({ seed, milliseconds, onInput }) {
    const recordings = await recordEtcd();
    const until = realClock.monotonic() + milliseconds;
    const { inputs, left, answered } = await fuzzHttp2(seed, recordings, (count) => {
      onInput(count);
      return realClock.monotonic() < until;
    });
    const codes = [...left].map(([code, count]) => `${count} × ${code}`).join(', ');
    const heap = Math.round(process.memoryUsage().heapUsed / 2 ** 20);
    const summary = `${inputs} inputs, ${answered} streams answered, left with codes ${codes}, heap ${heap} MiB`;
    return { summary, problems: [] };
  },
};

export const http2Server: FuzzTarget = {
  name: 'http2-server',
  maxHeapMiB: 256,
  async run({ seed, milliseconds, onInput }) {
    const until = realClock.monotonic() + milliseconds;
    const { inputs, left, answered } = await fuzzHttp2Server(seed, (count) => {
      onInput(count);
      return realClock.monotonic() < until;
    });
    const codes = [...left].map(([code, count]) => `${count} × ${code}`).join(', ');
    const heap = Math.round(process.memoryUsage().heapUsed / 2 ** 20);
    const summary = `${inputs} inputs, ${answered} requests answered, left with codes ${codes}, heap ${heap} MiB`;
    return { summary, problems: [] };
  },
};
