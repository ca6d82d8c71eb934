/** One object of the API, read when it is needed, and again when what was read is too old. */
import type { Clock } from '#apimachinery/clock.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client } from '#client/client.js';
import type { Place } from '#nodeagent/objects/watched-object.js';

export interface CachedObjectOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** How long what was read is good; 0 or less: never. */
  readonly ttlMs: () => number;
}

interface Read<T> {
  /** Undefined: there is no such object. */
  readonly object: T | undefined;
  readonly at: number;
}

export class CachedObject<T extends ApiObject> {
  readonly #type: ResourceType<T>;
  readonly #place: Place;
  readonly #options: CachedObjectOptions;
  #last: Read<T> | undefined;
  #reading: Promise<Read<T>> | undefined;

  constructor(type: ResourceType<T>, place: Place, options: CachedObjectOptions) {
    this.#type = type;
    this.#place = place;
    this.#options = options;
  }

  /** What was read is too old for somebody who has just come. */
  expire(): void {
    if (this.#last !== undefined) this.#last = { ...this.#last, at: Number.NEGATIVE_INFINITY };
  }

  /** Undefined when it does not exist. When it cannot be read now, what was read before is good for longer. */
  async get(): Promise<T | undefined> {
    const { clock, ttlMs } = this.#options;
    const last = this.#last;
    // That there is none is asked anew each time: a pod waits for it.
    if (last?.object !== undefined && clock.monotonic() - last.at < ttlMs()) return last.object;
    try {
      // Many that ask at once ask one question.
      this.#reading ??= this.#read();
      this.#last = await this.#reading;
      return this.#last.object;
    } catch (error) {
      if (last?.object === undefined) throw error;
      return last.object;
    } finally {
      this.#reading = undefined;
    }
  }

  async #read(): Promise<Read<T>> {
    const { client, clock } = this.#options;
    const { namespace, name } = this.#place;
    // A second look may come from the server's memory.
    const version = this.#last?.object === undefined ? {} : { resourceVersion: '0' };
    const at = clock.monotonic();
    try {
      return { object: await client.resource(this.#type).get(name, { namespace, ...version }), at };
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return { object: undefined, at };
    }
  }

  /** Nothing runs. */
  close(): void {}
}
