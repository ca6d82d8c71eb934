/** The state of the machine: calibrated before anything runs, and observed during measurements. */
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
  median,
  outpaces,
  paceOf,
  type Spin,
  type Starvation,
  starvation,
  type Taken,
} from '#test/bench/machine/starvation.js';

export interface Judged<T> {
  readonly value: T;
  /** Why the value is invalid. */
  readonly starved: Starvation | undefined;
  /** The cores' speed relative to the calibration; undefined for a short measurement. */
  readonly pace: number | undefined;
}

/** The number of consecutive spins in a probe: 20 ms. */
const spinsOfProbe = 10;
const probesOfCalibration = 20;
/** How long all cores are busy to measure the speed of spins under load (longer on hyperthreads). */
const companyMs = 2000;
/** The number of calibration attempts on a busy machine. */
const calibrations = 5;
const calibrationPauseMs = 1000;
/** Work of the previous measurement may still run when the next one starts. */
const probesBefore = 20;
const probePauseMs = 100;
const betweenSpinsMs = 100;

export class Machine {
  /** Spins alone, or periodically during a measurement. */
  readonly #probe: Probe;
  readonly #calibration: Calibration;
  readonly #disturbed: boolean;
  /** A probe was faster than the calibration allows. */
  #outpaced = false;

  private constructor(probe: Probe, calibration: Calibration, disturbed: boolean) {
    this.#probe = probe;
    this.#calibration = calibration;
    this.#disturbed = disturbed;
  }

  /** Must be called before anything else starts: all later spins are compared with this calibration. */
  static async calibrated(): Promise<Machine> {
    const probe = await Probe.start();
    const company: Probe[] = [];
    for (let i = 0; i < availableParallelism(); i++) company.push(await Probe.start());
    try {
      for (let left = calibrations; ; left--) {
        const { calibration, disturbed } = await calibrate(probe, company);
        if (!disturbed || left === 1) return new Machine(probe, calibration, disturbed);
        await realClock.sleep(calibrationPauseMs);
      }
    } finally {
      for (const each of company) each.close();
    }
  }

  /** For example `a core spins in 2.31 ms, in company in 2.40 ms of it`. */
  get description(): string {
    const { alone, inCompany } = this.#calibration;
    return `a core spins in ${alone.wallMs.toFixed(2)} ms, in company in ${inCompany.cpuMs.toFixed(2)} ms of it`;
  }

  /**
   * Whether starvation cannot be detected, because the machine was never quiet enough for a calibration, or was faster later.
   */
  get badlyCalibrated(): boolean {
    return this.#disturbed || this.#outpaced;
  }

  /** Runs `work` after waiting for a free core, and returns whether the core stayed free. */
  async judge<T>(work: () => Promise<T>): Promise<Judged<T>> {
    const before = await this.#wholeCore();
    const { value, ...disturbances } = await takenByOthers(async () => {
      this.#probe.order({ everyMs: betweenSpinsMs });
      const result = await work();
      return { result, during: await this.#probe.answer<Spin[]>({ stop: true }) };
    });
    const { result, during } = value;
    const conditions = { before, during, ...disturbances };
    const pace = paceOf(this.#calibration, conditions);
    return { value: result, starved: starvation(this.#calibration, conditions), pace };
  }

  close(): void {
    this.#probe.close();
  }

  async #wholeCore(): Promise<Spin> {
    for (let left = probesBefore; ; left--) {
      const spin = await spins(this.#probe);
      this.#outpaced ||= outpaces(this.#calibration, spin);
      if (hadCore(spin) || left === 1) return spin;
      await realClock.sleep(probePauseMs);
    }
  }
}

/** A process running `spin.ts`. */
class Probe {
  readonly #child: ChildProcess;
  readonly #ended: Promise<never>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = once(child, 'exit').then(([code, signal]) => {
      throw new Error(`a probe has ended: ${code ?? signal}`);
    });
    // Reject the pending response.
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

/** Runs `work` and returns the CPU time of other processes meanwhile. */
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

/** Measures spins on an idle machine, and periodically while every core is busy, as in a measurement. */
async function calibrate(
  probe: Probe,
  company: readonly Probe[],
): Promise<{ calibration: Calibration; disturbed: boolean }> {
  const alone: Spin[] = [];
  let inCompany: readonly Spin[] = [];
  const others = await takenByOthers(async () => {
    for (let i = 0; i < probesOfCalibration; i++) alone.push(await spins(probe));
    const companions = company.map((each) => each.answer<number>({ busyMs: companyMs }));
    probe.order({ everyMs: betweenSpinsMs });
    await Promise.all(companions);
    inCompany = await probe.answer<Spin[]>({ stop: true });
  });
  return {
    calibration: { alone: fastest(alone), inCompany: { cpuMs: median(inCompany.map(({ cpuMs }) => cpuMs)) } },
    disturbed: disturbance(others) !== undefined,
  };
}

/** The minimum of each value. */
function fastest(all: readonly Spin[]): Spin {
  return {
    wallMs: Math.min(...all.map(({ wallMs }) => wallMs)),
    cpuMs: Math.min(...all.map(({ cpuMs }) => cpuMs)),
  };
}
