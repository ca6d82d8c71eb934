/** The fuzz targets: each runs for a time with a seed and reports problems. */
import { realClock } from '#apimachinery/clock.js';
import { fuzzAccess } from '#test/fuzz/access/access.js';
import { fuzzAgentAccess } from '#test/fuzz/agent-access.js';
import { type Format, fuzz } from '#test/fuzz/codec.js';
import { fuzzCost } from '#test/fuzz/cost/cost.js';
import { fuzzDns } from '#test/fuzz/dns.js';
import { fuzzHttp2 } from '#test/fuzz/http2/http2.js';
import { recordEtcd } from '#test/fuzz/http2/recording.js';
import { fuzzHttp2Server } from '#test/fuzz/http2/server.js';
import { fuzzSchemas } from '#test/fuzz/schemas.js';
import { fuzzSpdy } from '#test/fuzz/spdy/spdy.js';
import type { FuzzTarget } from '#test/fuzz/target.js';

/** The decoders of request bodies. */
/** Heap for decoding, in addition to inputs and samples. */
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

/** Frames of exec, attach and port-forward peers. */
const spdy: FuzzTarget = {
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

/** Authorization of the API server. */
const access: FuzzTarget = {
  name: 'access',
  maxHeapMiB: 1024,
  async run({ seed, milliseconds, onInput }) {
    let end: number | undefined;
    const goOn = () => {
      // Counts from the first request, because the server starts before it.
      end ??= realClock.monotonic() + milliseconds;
      return realClock.monotonic() < end;
    };
    const { requests, statuses, problems, ...seen } = await fuzzAccess({ seed, goOn, onRequest: onInput });
    const { markersShown, changes, agentHits } = seen;
    const answers = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
    const summary = `${requests} requests (${answers.join(', ')}), ${markersShown} objects shown, ${changes} changed, ${agentHits} agents reached`;
    return { summary, problems };
  },
};

/** Authorization of the node agent. */
const agentAccess: FuzzTarget = {
  name: 'agent-access',
  maxHeapMiB: 1024,
  async run({ seed, milliseconds, onInput }) {
    const end = realClock.monotonic() + milliseconds;
    const { answers, problems } = await fuzzAgentAccess(seed, (sent) => {
      onInput(sent);
      return realClock.monotonic() < end;
    });
    return {
      summary: `answers ${JSON.stringify([...answers])}`,
      problems: problems.map((each) => JSON.stringify(each)),
    };
  },
};

/** Cost of requests to the API server. */
const cost: FuzzTarget = {
  name: 'cost',
  maxHeapMiB: 2048,
  async run({ seed, milliseconds, onInput }) {
    const { inputs, compared, longest, longestOf } = await fuzzCost({ seed, milliseconds, clock: realClock, onInput });
    const turn = `longest turn ${longest.toFixed(0)} ms (${longestOf})`;
    return { summary: `${inputs} shapes, ${compared} compared at twice the size, ${turn}`, problems: [] };
  },
};

/** Frames for the etcd client, and for the HTTP/2 server. */
const http2: FuzzTarget = {
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

const http2Server: FuzzTarget = {
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

/** Packets for the DNS server. */
const dns: FuzzTarget = {
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

/** Schemas of definitions and validation of objects. */
const schemas: FuzzTarget = {
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

/** All targets in run order. */
export const targets: readonly FuzzTarget[] = [
  codec('protobuf'),
  codec('json'),
  spdy,
  access,
  agentAccess,
  cost,
  http2,
  http2Server,
  dns,
  schemas,
];
