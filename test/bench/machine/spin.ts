/**
 * A busy loop with constant work, about 2 ms of a core, in its own process, so that its CPU time can be separated.
 * Messages from the parent process:
 * - `{ spins: N }`: responds with the mean of N consecutive spins
 * - `{ everyMs: N }`: spins periodically until `{ stop: true }`, which responds with the list of spins
 * - `{ busyMs: N }`: keeps a core busy for this time, as servers and clients do, and responds at the end
 */
import { createHash, pbkdf2Sync } from 'node:crypto';
import { realClock } from '#apimachinery/clock.js';
import type { Spin } from '#test/bench/machine/starvation.js';

export type SpinOrder =
  | { readonly spins: number }
  | { readonly everyMs: number }
  | { readonly stop: true }
  | { readonly busyMs: number };

/**
 * Pure arithmetic in native code. A JavaScript loop would take three times as long after a deoptimization, which looks like
 * a slow core.
 */
function work(): void {
  pbkdf2Sync('spin', 'spin', 5000, 32, 'sha256');
}

function spin(times: number): Spin {
  const startCpu = process.cpuUsage();
  const start = realClock.monotonic();
  for (let i = 0; i < times; i++) work();
  const wallMs = realClock.monotonic() - start;
  const { user, system } = process.cpuUsage(startCpu);
  return { wallMs: wallMs / times, cpuMs: (user + system) / 1000 / times };
}

/** Simulates a server: copies more than fits into the cache, hashes and parses. */
function busy(ms: number): number {
  const from = Buffer.alloc(4 * 2 ** 20, 'server');
  const to = Buffer.alloc(from.length);
  const text = JSON.stringify(
    Array.from({ length: 100 }, (_, n) => ({ name: `object-${n}`, labels: { n: String(n) } })),
  );
  const end = realClock.monotonic() + ms;
  let done = 0;
  while (realClock.monotonic() < end) {
    from.copy(to);
    done += createHash('sha256')
      .update(to.subarray(0, 64 * 1024))
      .digest().length;
    for (let i = 0; i < 20; i++) done += (JSON.parse(text) as unknown[]).length;
  }
  return done;
}

// Warm up first.
spin(20);
let measured: Spin[] = [];
let ticking: NodeJS.Timeout | undefined;
process.on('message', (order: SpinOrder) => {
  if ('spins' in order) process.send?.(spin(order.spins));
  else if ('busyMs' in order) process.send?.(busy(order.busyMs));
  else if ('everyMs' in order) {
    measured = [];
    ticking = setInterval(() => measured.push(spin(1)), order.everyMs);
  } else {
    clearInterval(ticking);
    process.send?.(measured);
  }
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
