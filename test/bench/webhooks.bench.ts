/**
 * The effect of misbehaving webhooks and extension servers: the latency of unrelated requests, without and with load on
 * each kind.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { figure, machineLine } from '#test/bench/report.js';
import { startHostileCluster } from '#test/integration/apiserver/webhooks/hostile-cluster.js';
import { type HostileMode, hostileModes } from '#test/integration/apiserver/webhooks/hostile-server.js';

/** The tests' hostile cluster. */

export interface Hostile {
  readonly sorts: readonly HostileMode[];
  become(sort: HostileMode): Promise<void>;
  /** Affected requests: writes, conversions and requests to an extension server, in turn. */
  suffer(): Promise<void>;
  others(): Promise<void>;
  /** Releases waiting requests. */
  release(): Promise<void>;
  stop(): Promise<void>;
}

async function startHostile(): Promise<Hostile> {
  const ends: (() => unknown)[] = [];
  const teardown = (end: () => unknown) => void ends.unshift(end);
  const { hostile, write, convert, serve, other } = await startHostileCluster({ teardown } as never);
  let turn = 0;
  return {
    sorts: hostileModes,
    become: (sort) => hostile.become(sort),
    suffer: async () => {
      turn += 1;
      await [write, () => convert('timeout=1s'), serve][turn % 3]?.();
    },
    others: async () => {
      const { status } = await other();
      if (status !== 201) throw new Error(`another one's request was answered with ${status}`);
    },
    release: async () => {
      await hostile.become('good');
      await hostile.cut();
    },
    stop: async () => {
      for (const end of ends) await end();
    },
  };
}

/** Unrelated requests may become twice as slow, plus a margin for a busy machine. */
const factor = 2;
const slackMs = 2;
const requests = 2000;
/** Continuous requests to the webhook. */
const victims = 20;
const spareMs = 20;

const ms = (value: number): string => `${value.toFixed(2)} ms`;

interface Latency {
  readonly median: number;
  readonly tail: number;
}

async function others({ others: ask }: Hostile): Promise<Latency> {
  const times: number[] = [];
  for (let i = 0; i < requests; i++) {
    const began = performance.now();
    await ask();
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  return { median: times[Math.floor(requests / 2)] ?? 0, tail: times[Math.floor(requests * 0.95)] ?? 0 };
}

/** Runs until it is stopped. */
function load({ suffer }: Hostile): { stop(): Promise<number> } {
  let stopped = false;
  let done = 0;
  const one = async () => {
    while (!stopped) {
      await suffer();
      done += 1;
      // Pause after a rejection, as clients do, so that the speed of rejections is not measured.
      await sleep(spareMs);
    }
  };
  const all = Promise.all(Array.from({ length: victims }, one));
  return {
    async stop() {
      stopped = true;
      await all;
      return done;
    },
  };
}

process.stdout.write(`${machineLine()}\n`);
const hostile = await startHostile();
await others(hostile);
await others(hostile);
let calm = await others(hostile);
figure('others, without load: median', ms(calm.median));
figure('others, without load: 95th percentile', ms(calm.tail));
const over: string[] = [];
for (const sort of hostile.sorts) {
  await hostile.become(sort);
  const before = process.memoryUsage().rss;
  const under = load(hostile);
  await sleep(500);
  const loaded = await others(hostile);
  const rss = process.memoryUsage().rss - before;
  await hostile.release();
  const done = await under.stop();
  const again = await others(hostile);
  // The speed of the machine may have changed.
  calm = again.median > calm.median ? again : calm;
  const limit = calm.median * factor + slackMs;
  figure(`others, ${sort}: median`, ms(loaded.median), ms(limit));
  figure(`others, ${sort}: 95th percentile`, ms(loaded.tail));
  figure(`memory, ${sort}`, `${Math.max(0, rss / 1e6).toFixed(0)} MB`);
  figure(`requests that it cost, ${sort}`, String(done));
  if (loaded.median > limit) over.push(sort);
}
await hostile.stop();
if (over.length > 0) {
  process.stdout.write(`over the limit: ${over.join(', ')}\n`);
  process.exitCode = 1;
}
