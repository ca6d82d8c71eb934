/**
 * A busy loop of always the same work, about 2 ms of a core, in a process of its own, so that its CPU time can be told from
 * that of others. Talks to the process that has forked it:
 * - `{ spins: N }` is answered by what one of N in a row took
 * - `{ everyMs: N }` makes one now and then until `{ stop: true }`, which is answered by the list of them
 * - `{ busyMs: N }` keeps a core busy for so long, as servers and their clients do, and is answered at the end
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
 * Nothing but arithmetic, which depends on nothing in memory and leaves nothing there. It is compiled ahead of time: a loop of
 * JavaScript takes more than three times as long from the moment that its compiled code is given up, which looks like a slow core.
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

/** What a server's cores do: copy more than fits into their own caches, encrypt, parse. */
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

// Loaded and warm before anything counts.
spin(20);
let taken: Spin[] = [];
let ticking: NodeJS.Timeout | undefined;
process.on('message', (order: SpinOrder) => {
  if ('spins' in order) process.send?.(spin(order.spins));
  else if ('busyMs' in order) process.send?.(busy(order.busyMs));
  else if ('everyMs' in order) {
    taken = [];
    ticking = setInterval(() => taken.push(spin(1)), order.everyMs);
  } else {
    clearInterval(ticking);
    process.send?.(taken);
  }
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
