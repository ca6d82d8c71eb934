/** The machine as a measurement finds it: calibrated when nothing runs yet, watched while something is measured. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { realClock } from '#apimachinery/clock.js';
import { timesOf } from '#test/bench/machine/proc.js';
import type { SpinOrder } from '#test/bench/machine/spin.js';
import {
  type Calibration,
  disturbance,
  hadCore,
  outpaces,
  paceOf,
  type Spin,
  type Starvation,
  starvation,
  type Taken,
} from '#test/bench/machine/starvation.js';

export interface Judged<T> {
  readonly value: T;
  /** Why the value does not count. */
  readonly starved: Starvation | undefined;
  /** How fast the cores were, as a part of what they were when nothing ran; undefined where it was too short to tell. */
  readonly pace: number | undefined;
}

/** Spins in a row that make one probe: 20 ms. */
const spinsOfProbe = 10;
const probesOfCalibration = 20;
/** How often a calibration is tried on a machine that others use. */
const calibrations = 5;
const calibrationPauseMs = 1000;
/** What the last measurement left to do may still be going on when the next is to begin. */
const probesBefore = 20;
const probePauseMs = 100;
const betweenSpinsMs = 100;

export class Machine {
  readonly #probes: readonly Probe[];
  readonly #calibration: Calibration;
  readonly #disturbed: boolean;
  /** A probe was faster than the calibration has found possible. */
  #outpaced = false;

  private constructor(probes: readonly Probe[], calibration: Calibration, disturbed: boolean) {
    this.#probes = probes;
    this.#calibration = calibration;
    this.#disturbed = disturbed;
  }

  /** To be called before anything else is started: what spins take then is what all others are compared with. */
  static async calibrated(): Promise<Machine> {
    const probes: Probe[] = [];
    for (let i = 0; i < availableParallelism(); i++) probes.push(await Probe.start());
    for (let left = calibrations; ; left--) {
      const { calibration, disturbed } = await calibrate(probes);
      if (!disturbed || left === 1) return new Machine(probes, calibration, disturbed);
      await realClock.sleep(calibrationPauseMs);
    }
  }

  /** `a core spins in 2.31 ms, each of 2 in 2.40 ms` */
  get description(): string {
    const { alone, together } = this.#calibration;
    return `a core spins in ${alone.wallMs.toFixed(2)} ms, each of ${this.#probes.length} in ${together.wallMs.toFixed(2)} ms`;
  }

  /**
   * Whether nothing can be said of how starved the machine was: it never was quiet enough to be calibrated, or it was found
   * to be faster later.
   */
  get badlyCalibrated(): boolean {
    return this.#disturbed || this.#outpaced;
  }

  /** Does `work`, once the machine gives a whole core or has been asked for one in vain, and tells whether it went on doing so. */
  async judge<T>(work: () => Promise<T>): Promise<Judged<T>> {
    const before = await this.#wholeCore();
    const { value, ...taken } = await takenByOthers(async () => {
      this.#first.order({ everyMs: betweenSpinsMs });
      const result = await work();
      return { result, during: await this.#first.answer<Spin[]>({ stop: true }) };
    });
    const { result, during } = value;
    const conditions = { before, during, ...taken };
    const pace = paceOf(this.#calibration, conditions);
    return { value: result, starved: starvation(this.#calibration, conditions), pace };
  }

  close(): void {
    for (const probe of this.#probes) probe.close();
  }

  get #first(): Probe {
    const [probe] = this.#probes;
    if (probe === undefined) throw new Error('the machine has no core');
    return probe;
  }

  async #wholeCore(): Promise<Spin> {
    for (let left = probesBefore; ; left--) {
      const spin = await spins(this.#first);
      this.#outpaced ||= outpaces(this.#calibration, spin);
      if (hadCore(spin) || left === 1) return spin;
      await realClock.sleep(probePauseMs);
    }
  }
}

/** A process that spins (`spin.ts`). */
class Probe {
  readonly #child: ChildProcess;
  readonly #ended: Promise<never>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = once(child, 'exit').then(([code, signal]) => {
      throw new Error(`a probe has ended: ${code ?? signal}`);
    });
    // Whoever waits for an answer hears of it.
    this.#ended.catch(() => undefined);
  }

  static async start(): Promise<Probe> {
    const child = fork(fileURLToPath(new URL('./spin.js', import.meta.url)), { execArgv: [] });
    const probe = new Probe(child);
    await Promise.race([once(child, 'message'), probe.#ended]);
    return probe;
  }

  order(message: SpinOrder): void {
    this.#child.send(message);
  }

  async answer<T>(message: SpinOrder): Promise<T> {
    const answered = once(this.#child, 'message');
    this.order(message);
    const [value] = (await Promise.race([answered, this.#ended])) as [T];
    return value;
  }

  close(): void {
    this.#child.disconnect();
  }
}

const spins = (probe: Probe) => probe.answer<Spin>({ spins: spinsOfProbe });

/** Does `work` and tells what went to others meanwhile. */
async function takenByOthers<T>(work: () => Promise<T>): Promise<Taken & { readonly value: T }> {
  const startMs = realClock.monotonic();
  const start = timesOf(process.pid);
  const value = await work();
  const end = timesOf(process.pid);
  return {
    value,
    elapsedMs: realClock.monotonic() - startMs,
    stealMs: end.stealMs - start.stealMs,
    othersMs: end.busyMs - start.busyMs - (end.ownMs - start.ownMs),
  };
}

async function calibrate(probes: readonly Probe[]): Promise<{ calibration: Calibration; disturbed: boolean }> {
  const alone: Spin[] = [];
  const together: Spin[] = [];
  const taken = await takenByOthers(async () => {
    for (let i = 0; i < probesOfCalibration; i++) {
      for (const probe of probes.slice(0, 1)) alone.push(await spins(probe));
      // One that begins late or ends late has the core for itself for a moment.
      together.push(slowest(await Promise.all(probes.map(spins))));
    }
  });
  return {
    calibration: { alone: fastest(alone), together: fastest(together) },
    disturbed: disturbance(taken) !== undefined,
  };
}

function slowest(all: readonly Spin[]): Spin {
  return {
    wallMs: Math.max(...all.map(({ wallMs }) => wallMs)),
    cpuMs: Math.max(...all.map(({ cpuMs }) => cpuMs)),
  };
}

/** The least of each figure by itself: each is a bound of what the machine can do. */
function fastest(all: readonly Spin[]): Spin {
  return {
    wallMs: Math.min(...all.map(({ wallMs }) => wallMs)),
    cpuMs: Math.min(...all.map(({ cpuMs }) => cpuMs)),
  };
}
