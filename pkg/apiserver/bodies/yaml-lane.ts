/** A worker thread that decodes one YAML document after the other: those of different users in turn. */
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '#apimachinery/clock.js';

/** The thread's reply; `repeated`: see `ReadYAML`. */
export type YamlAnswer =
  | { readonly json: Uint8Array; readonly repeated: readonly string[] }
  | { readonly refusal: string };

export interface YamlJob {
  readonly body: Buffer;
  readonly user: string;
  readonly resolve: (answer: YamlAnswer) => void;
  readonly reject: (error: unknown) => void;
}

export interface YamlLaneOptions {
  readonly clock: Clock;
  /** Time limit per document. */
  readonly timeoutMs: number;
  /** Called when a document exceeds the thread's time or memory; its thread has ended. */
  readonly exceeded: (job: YamlJob) => void;
}

/** An idle thread ends after this time. */
const idleMs = 10_000;
/** Limit of the thread's memory: some hundred bytes per byte of a document. */
const maxHeapMiB = 1024;

export class YamlLane {
  readonly #options: YamlLaneOptions;
  /** Users in turn, with their documents. */
  readonly #waiting = new Map<string, YamlJob[]>();
  #worker: Worker | undefined;
  #current: YamlJob | undefined;
  #timer: Timer | undefined;

  constructor(options: YamlLaneOptions) {
    this.#options = options;
  }

  add(job: YamlJob): void {
    const line = this.#waiting.get(job.user);
    if (line === undefined) this.#waiting.set(job.user, [job]);
    else line.push(job);
    this.#next();
  }

  /** Ends the thread and refuses all documents. */
  async close(reason: Error): Promise<void> {
    for (const line of this.#waiting.values()) for (const { reject } of line) reject(reason);
    this.#waiting.clear();
    await this.#end((job) => job.reject(reason));
  }

  #next(): void {
    if (this.#current !== undefined) return;
    const { clock, timeoutMs, exceeded } = this.#options;
    this.#timer?.cancel();
    this.#current = this.#take();
    if (this.#current === undefined) {
      this.#timer = clock.setTimer(() => void this.#end(exceeded), idleMs);
      return;
    }
    this.#timer = clock.setTimer(() => void this.#end(exceeded), timeoutMs);
    this.#worker ??= this.#start();
    this.#worker.postMessage(this.#current.body);
  }

  #take(): YamlJob | undefined {
    const [next] = this.#waiting;
    if (next === undefined) return undefined;
    const [user, line] = next;
    this.#waiting.delete(user);
    const job = line.shift();
    // Behind all other users.
    if (line.length > 0) this.#waiting.set(user, line);
    return job;
  }

  #start(): Worker {
    const worker = new Worker(new URL('./yaml-worker.js', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMiB },
    });
    worker.unref();
    worker.on('message', (answer: YamlAnswer) => this.#answered(answer));
    worker.on('error', (error: NodeJS.ErrnoException) => {
      if (this.#worker !== worker) return;
      const isFull = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      void this.#end(isFull ? this.#options.exceeded : (job) => job.reject(error));
    });
    return worker;
  }

  #answered(answer: YamlAnswer): void {
    const job = this.#current;
    this.#current = undefined;
    job?.resolve(answer);
    this.#next();
  }

  /** Ends the thread, and tells what becomes of its document. The next document starts a new thread. */
  async #end(outcome: (job: YamlJob) => void): Promise<void> {
    this.#timer?.cancel();
    const [worker, job] = [this.#worker, this.#current];
    this.#worker = undefined;
    this.#current = undefined;
    if (job !== undefined) outcome(job);
    if (this.#waiting.size > 0) this.#next();
    await worker?.terminate();
  }
}
