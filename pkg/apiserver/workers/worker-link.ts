/** A worker's end of what connects it to the main thread of its server. */
import type { MessagePort } from 'node:worker_threads';
import type { Registry } from 'prom-client';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import type { HealthCheck } from '#apiserver/discovery/health.js';
import type { ConnectionCount } from '#apiserver/http/connection-count.js';
import type { InFlightCounts } from '#apiserver/pipeline/max-in-flight.js';
import { ControlBlock } from '#apiserver/workers/control-block.js';
import { copyOf, type SocketHandle } from '#apiserver/workers/listening-socket.js';
import type { FromWorker, MetricData, ToWorker, WorkerData } from '#apiserver/workers/messages.js';
import { aggregate, metricsOf } from '#apiserver/workers/metrics.js';
import { Subscriber } from '#storage/shared/subscriber.js';

export interface WorkerLinkOptions {
  readonly data: WorkerData;
  /** To the main thread. */
  readonly port: MessagePort;
  readonly clock: Clock;
  /** This thread's own. */
  readonly metrics: Registry;
  /** Of this thread's log. */
  readonly verbosity: { level: number };
  /** Called when the server is to end. */
  readonly stop: () => void;
}

/** How often a worker says that it is not held. */
const beatMs = 50;
/** The main thread is held when it has not beaten for so long. */
const mainHeldMs = 10_000;

export class WorkerLink {
  readonly data: WorkerData;
  readonly subscriber: Subscriber;
  readonly control: ControlBlock;
  readonly #options: WorkerLinkOptions;
  readonly #gathering = new Map<number, (metrics: readonly (readonly MetricData[])[]) => void>();
  #nextGathering = 1;
  #timer: Timer | undefined;
  #mainBeats = -1;
  #mainSeenMs = 0;

  constructor(options: WorkerLinkOptions) {
    this.#options = options;
    this.data = options.data;
    this.control = new ControlBlock(options.data.workers, options.data.control);
    this.subscriber = new Subscriber(options.data.feed);
    options.port.on('message', (message: ToWorker) => void this.#hear(message));
  }

  /** This worker's own descriptor of the listening socket. */
  socket(): Promise<SocketHandle> {
    return copyOf(this.data.descriptor);
  }

  /** From now on the main thread feeds the caches, which all exist, and expects beats. */
  begin(): void {
    this.#beat();
    this.#send({ type: 'following' });
  }

  ready(): void {
    this.#send({ type: 'ready' });
  }

  /** Does not keep the thread alive any more. */
  close(): void {
    this.#timer?.cancel();
    this.control.clear(this.data.index);
    this.data.feed.close();
    this.#options.port.unref();
  }

  /** The metrics of all threads, as those of one server. */
  async metrics(): Promise<Registry> {
    const own = await metricsOf(this.#options.metrics);
    const id = this.#nextGathering++;
    const others = await new Promise<readonly (readonly MetricData[])[]>((resolve) => {
      this.#gathering.set(id, resolve);
      this.#send({ type: 'gather', id });
    });
    return aggregate([...others, own]);
  }

  /** How much is logged, by all threads alike. */
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

  /** Requests under way in all workers. */
  get inFlight(): InFlightCounts {
    const { control } = this;
    const { index } = this.data;
    return {
      total: (kind) => control.total(kind),
      own: (kind) => control.own(index, kind),
      add: (kind, by) => control.count(index, kind, by),
    };
  }

  get connections(): ConnectionCount {
    const { control } = this;
    const { index } = this.data;
    return {
      listening: () => control.setServing(index, true),
      opened: () => {
        control.count(index, 'connections', 1);
        control.letOthersAccept(index);
      },
      closed: () => control.count(index, 'connections', -1),
    };
  }

  /** What is true of the whole server, not of this worker. */
  healthChecks(): HealthCheck[] {
    return [
      {
        name: 'poststarthook/bootstrap',
        endpoints: ['readyz', 'healthz'],
        check: async () => {
          if (!this.control.bootstrapped) throw serviceUnavailable("the cluster's own objects do not exist yet");
        },
      },
      {
        name: 'main-thread',
        endpoints: ['livez', 'readyz', 'healthz'],
        check: async () => {
          if (this.#options.clock.monotonic() - this.#mainSeenMs > mainHeldMs) {
            throw serviceUnavailable('the thread that follows the store is held');
          }
        },
      },
    ];
  }

  #beat(): void {
    const { control } = this;
    const { clock } = this.#options;
    control.beat(this.data.index);
    const beats = control.beats();
    if (beats !== this.#mainBeats) {
      this.#mainBeats = beats;
      this.#mainSeenMs = clock.monotonic();
    }
    this.#timer = clock.setTimer(() => this.#beat(), beatMs);
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
    this.#options.port.postMessage(message);
  }
}
