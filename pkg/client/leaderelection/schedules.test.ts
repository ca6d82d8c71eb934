/**
 * Leader election under a thousand random schedules: two or five candidates whose clocks are wrong and run unevenly,
 * locks of every kind, processes that are stopped, requests that land late and answers that never come, a lock that somebody deletes. Never
 * do writes of two terms land mixed: once one of the later term has landed, none of the earlier does.
 */
import t from 'tap';
import { LeaderElector } from '#client/leaderelection/leader-elector.js';
import { MultiLock } from '#client/leaderelection/multi-lock.js';
import { CandidateClock } from '#client/leaderelection/testing/candidate-clock.js';
import { FarStore } from '#client/leaderelection/testing/far-store.js';
import { eventLoopTurn, VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';

const schedules = 1000;
const firstSeed = 1;
/** Faults happen for so long, in true time; then there are none. */
const faultyMs = 80_000;
const calmMs = 45_000;

/** A small generator, so that a seed repeats a run. */
function generator(seed: number): () => number {
  let state = Math.imul(seed, 2_654_435_761) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return ((state >>> 5) & 0x7ff_ffff) / 2 ** 27;
  };
}

interface Outcome {
  /** What must not happen. */
  readonly problems: readonly string[];
  /** Terms with work, and how often what happened. */
  readonly terms: number;
  readonly landed: number;
  readonly refusedHere: number;
  readonly refusedThere: number;
  /** Instants at which two candidates both took themselves for the leader. */
  readonly twoAtOnce: number;
}

async function run(seed: number): Promise<Outcome> {
  const random = generator(seed);
  const base = new VirtualClock();
  let faulty = true;
  const store = new FarStore(base, {
    delayMs: () => Math.floor(random() * (faulty && random() < 0.1 ? 40_000 : 200)),
    losesAnswer: () => faulty && random() < 0.1,
  });
  const stop = new AbortController();
  const counts = { landed: 0, refusedHere: 0, refusedThere: 0, twoAtOnce: 0 };
  const problems: string[] = [];
  /** Terms in the order in which their work began; the last one that landed a write, and those it followed. */
  let terms = 0;
  let landing = 0;
  const over = new Set<number>();
  const land = (term: number) => {
    counts.landed += 1;
    if (over.has(term)) problems.push(`a write of term ${term} landed after one of term ${landing}`);
    if (landing !== term) over.add(landing);
    landing = term;
  };
  let leading = 0;

  const candidates = Array.from({ length: seed % 2 === 0 ? 2 : 5 }, (_, i) => {
    const clock = new CandidateClock({ base, skewMs: (random() - 0.5) * 1e8, rate: 0.9 + random() * 0.2 });
    const lease = seed % 3 === 1 ? store.expiringLock('lease', clock) : store.lock('lease', clock);
    const both = { primary: store.lock('map', clock), secondary: lease, unknownHolder: 'unknown' };
    const elector = new LeaderElector({
      lock: seed % 3 === 0 ? new MultiLock(both) : lease,
      identity: `c${i}`,
      leaseDurationMs: 15_000,
      renewDeadlineMs: 10_000,
      retryPeriodMs: 2000,
      clock,
      random,
      log: silentLogger,
    });
    const work = async (signal: AbortSignal): Promise<void> => {
      terms += 1;
      const term = terms;
      leading += 1;
      if (leading > 1) counts.twoAtOnce += 1;
      while (!signal.aborted) {
        await clock.sleep(random() * 6000, signal);
        try {
          const headers = elector.fence();
          // Nobody waits for it: the next write is sent while this one is on its way.
          const write = () => {
            if (store.lets(headers)) land(term);
            else counts.refusedThere += 1;
          };
          store.send(write, clock, signal).catch(() => undefined);
        } catch {
          counts.refusedHere += 1;
        }
      }
      leading -= 1;
    };
    return { clock, elector, finished: elector.run(work, stop.signal) };
  });

  for (let spent = 0; spent < faultyMs; ) {
    const stepMs = Math.floor(random() * 20_000);
    const victim = candidates[Math.floor(random() * candidates.length)];
    const what = random();
    if (what < 0.3) {
      victim?.clock.stop();
      base.setTimer(() => victim?.clock.goOn(), Math.floor(random() * 60_000));
    } else if (what < 0.34) store.remove('lease');
    await base.advance(stepMs);
    spent += stepMs;
  }
  faulty = false;
  await base.advance(calmMs);
  const before = counts.landed;
  await base.advance(20_000);
  if (counts.landed === before) problems.push('no write lands though nothing is wrong any more');
  if (leading !== 1) problems.push(`${leading} lead though nothing is wrong any more`);
  stop.abort();
  let ended = false;
  void Promise.all(candidates.map(({ finished }) => finished)).then(() => {
    ended = true;
  });
  await eventLoopTurn();
  await base.advanceUntil(() => ended);
  return { problems, terms, ...counts };
}

t.setTimeout(300_000);

t.test(`never two leaders whose writes both land, in ${schedules} schedules`, async (t) => {
  const total = { terms: 0, landed: 0, refusedHere: 0, refusedThere: 0, twoAtOnce: 0 };
  t.comment(`seeds ${firstSeed} to ${firstSeed + schedules - 1}`);
  for (let seed = firstSeed; seed < firstSeed + schedules; seed += 1) {
    const { problems, ...counts } = await run(seed);
    if (problems.length > 0) t.fail(`seed ${seed}: ${problems.slice(0, 3).join('; ')}`);
    for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += counts[key];
  }
  t.comment(JSON.stringify(total));
  // Otherwise the schedules would prove nothing.
  for (const [what, times] of Object.entries(total)) t.ok(times > 100, `${what} happened often`);
});
