/**
 * Leader election under a thousand random schedules: two or five candidates with skewed and uneven clocks, locks of every
 * kind, stopped processes, late requests, lost responses and deleted locks. Once a write of a later term has landed, no
 * write of an earlier term lands.
 */
import t from 'tap';
import { MultiLock } from '#client/leaderelection/create-lock.js';
import { LeaderElector } from '#client/leaderelection/leader-elector.js';
import { CandidateClock } from '#client/leaderelection/testing/candidate-clock.js';
import { SimulatedStore } from '#client/leaderelection/testing/simulated-store.js';
import { eventLoopTurn, VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';

const schedules = 1000;
const firstSeed = 1;
/** Duration of the faults, in true time. */
const faultyMs = 80_000;
const calmMs = 45_000;

/** A small random generator, so that a seed reproduces a run. */
function generator(seed: number): () => number {
  let state = Math.imul(seed, 2_654_435_761) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return ((state >>> 5) & 0x7ff_ffff) / 2 ** 27;
  };
}

interface Outcome {
  /** Violations of the guarantee. */
  readonly problems: readonly string[];
  /** Number of terms, and of each kind of event. */
  readonly terms: number;
  readonly landed: number;
  readonly refusedHere: number;
  readonly refusedThere: number;
  /** How often two candidates both considered themselves leader. */
  readonly twoAtOnce: number;
}

async function run(seed: number): Promise<Outcome> {
  const random = generator(seed);
  const base = new VirtualClock();
  let faulty = true;
  const store = new SimulatedStore(base, {
    delayMs: () => Math.floor(random() * (faulty && random() < 0.1 ? 40_000 : 200)),
    losesResponse: () => faulty && random() < 0.1,
  });
  const stop = new AbortController();
  const counts = { landed: 0, refusedHere: 0, refusedThere: 0, twoAtOnce: 0 };
  const problems: string[] = [];
  /** Terms in the order in which their work began, and the last one whose write landed. */
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
          // Not awaited: the next write is sent while this one is in flight.
          const write = () => {
            if (store.accepts(headers)) land(term);
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
      base.setTimer(() => victim?.clock.resume(), Math.floor(random() * 60_000));
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

t.test(`writes of two leaders never interleave in ${schedules} schedules`, async (t) => {
  const total = { terms: 0, landed: 0, refusedHere: 0, refusedThere: 0, twoAtOnce: 0 };
  t.comment(`seeds ${firstSeed} to ${firstSeed + schedules - 1}`);
  for (let seed = firstSeed; seed < firstSeed + schedules; seed += 1) {
    const { problems, ...counts } = await run(seed);
    if (problems.length > 0) t.fail(`seed ${seed}: ${problems.slice(0, 3).join('; ')}`);
    for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += counts[key];
  }
  t.comment(JSON.stringify(total));
  // Each fault must occur often enough to test anything.
  for (const [what, times] of Object.entries(total)) t.ok(times > 100, `${what} happened often`);
});
