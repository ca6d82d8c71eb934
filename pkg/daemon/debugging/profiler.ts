/** Profiles this process through the runtime's inspector. */
import { type Profiler as InspectorProfiler, Session } from 'node:inspector';
import type { Clock } from '#apimachinery/clock.js';
import { cpuProfile, heapProfile, type SamplingHeapProfile } from '#daemon/debugging/inspector-profiles.js';
import { encodeProfile } from '#daemon/debugging/pprof.js';

/** Only one profile at a time: the process has one sampler. */
export class ProfilerBusyError extends Error {
  override readonly name = 'ProfilerBusyError';

  constructor() {
    super('profiling already in use');
  }
}

export interface Profiler {
  /**
   * All three return gzipped pprof bytes and reject with ProfilerBusyError. Aborting the signal ends the sampling
   * early.
   */
  cpu(durationMs: number, signal: AbortSignal): Promise<Buffer>;
  /** Memory allocated in that time and still in use. */
  heap(durationMs: number, signal: AbortSignal): Promise<Buffer>;
  /** Memory allocated in that time. */
  allocations(durationMs: number, signal: AbortSignal): Promise<Buffer>;
}

const cpuIntervalMicros = 1000;
/** One sample per this many bytes. */
const heapIntervalBytes = 32_768;

export class InspectorProfilerSource implements Profiler {
  readonly #clock: Clock;
  #busy = false;

  constructor(options: { readonly clock: Clock }) {
    this.#clock = options.clock;
  }

  cpu(durationMs: number, signal: AbortSignal): Promise<Buffer> {
    return this.#exclusively(async (session) => {
      await post(session, 'Profiler.enable');
      await post(session, 'Profiler.setSamplingInterval', { interval: cpuIntervalMicros });
      await post(session, 'Profiler.start');
      const elapsedMs = await this.#wait(durationMs, signal);
      const { profile } = await post<InspectorProfiler.StopReturnType>(session, 'Profiler.stop');
      return encodeProfile(cpuProfile(profile, this.#timing(elapsedMs, cpuIntervalMicros)));
    });
  }

  heap(durationMs: number, signal: AbortSignal): Promise<Buffer> {
    return this.#sampleHeap(durationMs, signal, 'inuse');
  }

  allocations(durationMs: number, signal: AbortSignal): Promise<Buffer> {
    return this.#sampleHeap(durationMs, signal, 'alloc');
  }

  #sampleHeap(durationMs: number, signal: AbortSignal, kind: 'inuse' | 'alloc'): Promise<Buffer> {
    return this.#exclusively(async (session) => {
      const collected = kind === 'alloc';
      await post(session, 'HeapProfiler.enable');
      await post(session, 'HeapProfiler.startSampling', {
        samplingInterval: heapIntervalBytes,
        includeObjectsCollectedByMajorGC: collected,
        includeObjectsCollectedByMinorGC: collected,
      });
      const elapsedMs = await this.#wait(durationMs, signal);
      const { profile } = await post<{ profile: SamplingHeapProfile }>(session, 'HeapProfiler.stopSampling');
      return encodeProfile(heapProfile(profile, this.#timing(elapsedMs, heapIntervalBytes), kind));
    });
  }

  async #exclusively<T>(work: (session: Session) => Promise<T>): Promise<T> {
    if (this.#busy) throw new ProfilerBusyError();
    this.#busy = true;
    const session = new Session();
    session.connect();
    try {
      return await work(session);
    } finally {
      // Also stops whatever the session had started.
      session.disconnect();
      this.#busy = false;
    }
  }

  async #wait(durationMs: number, signal: AbortSignal): Promise<number> {
    const startedMs = this.#clock.monotonic();
    await this.#clock.sleep(durationMs, signal);
    return this.#clock.monotonic() - startedMs;
  }

  #timing(durationMs: number, interval: number) {
    return { timeMs: this.#clock.now(), durationMs, interval };
  }
}

function post<R>(session: Session, method: string, parameters: object = {}): Promise<R> {
  return new Promise((resolve, reject) => {
    session.post(method, parameters, (error, result) => {
      if (error !== null) reject(error);
      else resolve(result as R);
    });
  });
}
