/** Writes to the API all the time and records every acknowledged write; none of them may be lost at the end. */
import { configmaps } from '#api/core/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';

const namespace = 'default';
const counterName = 'counter';
const label = { purpose: 'acknowledged' };

export class AcknowledgedWrites {
  readonly #client: Client;
  readonly #stop = new AbortController();
  readonly #work: Promise<unknown>;
  /** Name → content of each object whose creation was acknowledged. */
  readonly #created = new Map<string, string>();
  #counted = 0;
  /** Writes with an unknown outcome: no answer, or an error that leaves it open. */
  unanswered = 0;
  /** Longest time that a kind of write took over all attempts until an acknowledgement; ms. Readers may reset it. */
  longestMs = 0;

  constructor(client: Client) {
    this.#client = client;
    this.#work = Promise.all([this.#create(), this.#count()]);
  }

  get count(): number {
    return this.#created.size + this.#counted;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#work;
  }

  /** Acknowledged objects that are missing or have other content. */
  async lost(): Promise<string[]> {
    const { items } = await this.#client
      .resource(configmaps)
      .list({ namespace, labelSelector: 'purpose=acknowledged' });
    const contents = new Map(items.map((item) => [item.metadata.name, item.data?.['content']]));
    const lost = [...this.#created].flatMap(([name, content]) =>
      contents.get(name) === content ? [] : [`${name}: ${String(contents.get(name))} instead of ${content}`],
    );
    const counted = Number(contents.get(counterName) ?? 0);
    if (counted < this.#counted) lost.push(`${counterName}: ${counted} instead of ${this.#counted}`);
    return lost;
  }

  async #create(): Promise<void> {
    const maps = this.#client.resource(configmaps);
    const attempt = this.#attempts();
    for (let i = 0; !this.#stop.signal.aborted; i++) {
      const name = `acknowledged-${i}`;
      const content = `content of ${i}`;
      await attempt(async () => {
        await maps.create({ metadata: { name, namespace, labels: label }, data: { content } });
        this.#created.set(name, content);
      });
    }
  }

  /** Updates one object: only larger numbers may overwrite an acknowledged number. */
  async #count(): Promise<void> {
    const maps = this.#client.resource(configmaps);
    const attempt = this.#attempts();
    for (let i = 1; !this.#stop.signal.aborted; ) {
      await attempt(async () => {
        const data = { content: String(i) };
        const counter = await maps.get(counterName, { namespace }).catch((error: unknown) => {
          if (isNotFound(error)) return undefined;
          throw error;
        });
        if (counter === undefined)
          await maps.create({ metadata: { name: counterName, namespace, labels: label }, data });
        else await maps.update({ ...counter, data });
        this.#counted = i++;
      });
    }
  }

  /** The attempts of one kind of write. */
  #attempts(): (write: () => Promise<void>) => Promise<void> {
    let sinceMs: number | undefined;
    return async (write) => {
      sinceMs ??= realClock.monotonic();
      try {
        await write();
        this.longestMs = Math.max(this.longestMs, realClock.monotonic() - sinceMs);
        sinceMs = undefined;
      } catch (error) {
        // An earlier attempt without an answer had succeeded.
        if (!isAlreadyExists(error) && !isConflict(error)) this.unanswered++;
      }
      await realClock.sleep(40, this.#stop.signal);
    };
  }
}
