/** A worker's end of its channel to the supervisor. */
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import type { FromWorker, MetricData, ToWorker, WorkerPlace } from '#apiserver/workers/messages.js';
import { aggregate, metricsOf } from '#apiserver/workers/metrics.js';

/** Messages between two processes, in order. */
export interface Channel {
  /** A message to a supervisor that is gone is dropped: the worker ends then anyway. */
  send(message: FromWorker): void;
  onMessage(listener: (message: ToWorker) => void): void;
}

export interface WorkerLinkOptions {
  readonly place: WorkerPlace;
  readonly channel: Channel;
  readonly clock: Clock;
  /** This process's own. */
  readonly metrics: Registry;
  /** Of this process's log. */
  readonly verbosity: { level: number };
  /** Called when the server is to end. */
  readonly stop: () => void;
}

/** How often a worker says that its event loop runs. */
const beatMs = 500;

export class WorkerLink {
  readonly place: WorkerPlace;
  readonly #options: WorkerLinkOptions;
  readonly #gathering = new Map<number, (metrics: readonly (readonly MetricData[])[]) => void>();
  #nextGathering = 1;

  constructor(options: WorkerLinkOptions) {
    this.#options = options;
    this.place = options.place;
    options.channel.onMessage((message) => void this.#hear(message));
  }

  /** The worker's part of a limit of the whole server; 0, which is no limit, stays 0. */
  partOf(limit: number): number {
    return Math.ceil(limit / this.place.workers);
  }

  /** Says until the signal aborts that the event loop runs. */
  async beat(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#send({ type: 'beat' });
      await this.#options.clock.sleep(beatMs, signal);
    }
  }

  serving(): void {
    this.#send({ type: 'serving' });
  }

  /** The metrics of all processes as those of one server. */
  async metrics(): Promise<Registry> {
    const own = await metricsOf(this.#options.metrics);
    const id = this.#nextGathering++;
    const others = await new Promise<readonly (readonly MetricData[])[]>((resolve) => {
      this.#gathering.set(id, resolve);
      this.#send({ type: 'gather', id });
    });
    return aggregate([...others, own]);
  }

  /** The verbosity of the log, which a change sets in all processes. */
  get verbosity(): { level: number } {
    const { verbosity } = this.#options;
    const tell = (level: number) => this.#send({ type: 'verbosity', level });
    return {
      get level(): number {
        return verbosity.level;
      },
      set level(level: number) {
        verbosity.level = level;
        tell(level);
      },
    };
  }

  async #hear(message: ToWorker): Promise<void> {
    const { verbosity, metrics, stop } = this.#options;
    switch (message.type) {
      case 'stop':
        stop();
        break;
      case 'collect':
        this.#send({ type: 'metrics', id: message.id, metrics: await metricsOf(metrics) });
        break;
      case 'gathered':
        this.#gathering.get(message.id)?.(message.metrics);
        this.#gathering.delete(message.id);
        break;
      case 'verbosity':
        verbosity.level = message.level;
        break;
    }
  }

  #send(message: FromWorker): void {
    this.#options.channel.send(message);
  }
}
