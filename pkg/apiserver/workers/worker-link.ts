/** A worker's side of the channel to its supervisor. */
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import { aggregate, metricsOf } from '#apiserver/workers/merged-metrics.js';
import type { FromWorker, MetricData, ToWorker, WorkerPlace } from '#apiserver/workers/messages.js';

/** Ordered messages between two processes. */
export interface Channel {
  /** Sends a message; drops it if the supervisor has ended, since the worker then ends too. */
  send(message: FromWorker): void;
  onMessage(listener: (message: ToWorker) => void): void;
}

export interface WorkerLinkOptions {
  readonly place: WorkerPlace;
  readonly channel: Channel;
  readonly clock: Clock;
  /** The metrics of this process. */
  readonly metrics: Registry;
  /** The log level of this process. */
  readonly verbosity: { level: number };
  /** Called when the supervisor stops the server. */
  readonly stop: () => void;
}

/** Period of the heartbeats. */
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

  /** The worker's part of a limit of the whole server; 0, no limit, stays 0. */
  partOf(limit: number): number {
    return Math.ceil(limit / this.place.workers);
  }

  /** Sends heartbeats until the signal aborts. */
  async beat(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#send({ type: 'beat' });
      await this.#options.clock.sleep(beatMs, signal);
    }
  }

  serving(): void {
    this.#send({ type: 'serving' });
  }

  /** The merged metrics of all processes. */
  async metrics(): Promise<Registry> {
    const own = await metricsOf(this.#options.metrics);
    const id = this.#nextGathering++;
    const others = await new Promise<readonly (readonly MetricData[])[]>((resolve) => {
      this.#gathering.set(id, resolve);
      this.#send({ type: 'gather', id });
    });
    return aggregate([...others, own]);
  }

  /** The log level; setting it changes all processes. */
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
