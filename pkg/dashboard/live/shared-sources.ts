/** Sources by what they read, shared by all that show it, and kept for a while after the last user for the way back. */
import type { Clock, Timer } from '#apimachinery/clock.js';
import { ObjectsHolder } from '#dashboard/live/objects-holder.js';
import type { Requests } from '#dashboard/live/requests.js';
import { type Holder, Source } from '#dashboard/live/source.js';
import { TableHolder } from '#dashboard/live/table-holder.js';
import type { SourceQuery } from '#dashboard/model/messages.js';

export interface Shared<H extends Holder> {
  readonly holder: H;
  readonly source: Source;
  readonly listeners: Set<() => void>;
}

interface Entry extends Shared<Holder> {
  users: number;
  /** Ends the source; undefined while it has users. */
  ending: Timer | undefined;
}

export interface SharedSourcesOptions {
  readonly requests: Requests;
  readonly clock: Clock;
  readonly random: () => number;
  /** The group of Table in this server's dialect. */
  readonly metaGroup: string;
}

const keptMs = 30_000;

export class SharedSources {
  readonly #options: SharedSourcesOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: SharedSourcesOptions) {
    this.#options = options;
  }

  /** The caller releases it. */
  table(query: SourceQuery): Shared<TableHolder> {
    const { clock, metaGroup } = this.#options;
    return this.#use(`table ${keyOf(query)}`, query, () => new TableHolder(metaGroup, () => clock.now()));
  }

  /** The caller releases it. */
  objects(query: SourceQuery): Shared<ObjectsHolder> {
    return this.#use(`objects ${keyOf(query)}`, query, () => new ObjectsHolder());
  }

  release(shared: Shared<Holder>): void {
    for (const [key, entry] of this.#entries) {
      if (entry.source !== shared.source) continue;
      entry.users--;
      if (entry.users > 0) return;
      entry.ending = this.#options.clock.setTimer(() => {
        this.#entries.delete(key);
        entry.source.close();
      }, keptMs);
      return;
    }
  }

  close(): void {
    for (const { source, ending } of this.#entries.values()) {
      ending?.cancel();
      source.close();
    }
    this.#entries.clear();
  }

  /** A key names the type of its holder, too. */
  #use<H extends Holder>(key: string, query: SourceQuery, create: () => H): Shared<H> {
    const held = this.#entries.get(key);
    if (held !== undefined) {
      held.users++;
      held.ending?.cancel();
      held.ending = undefined;
      return held as Entry & { readonly holder: H };
    }
    const holder = create();
    const listeners = new Set<() => void>();
    const onChange = () => {
      for (const listener of listeners) listener();
    };
    const { requests, clock, random } = this.#options;
    const source = new Source(query, holder, { requests, clock, random, onChange });
    const entry = { holder, source, listeners, users: 1, ending: undefined };
    this.#entries.set(key, entry);
    void source.run();
    return entry;
  }
}

function keyOf({ path, labelSelector = '', fieldSelector = '' }: SourceQuery): string {
  return `${path} ${labelSelector} ${fieldSelector}`;
}
