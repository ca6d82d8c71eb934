/** Storage of resources without objects: reads are empty, writes are refused. */
import { methodNotAllowed, type Qualified } from '#apimachinery/errors/status.js';
import type {
  CompanionUpdate,
  ConditionalResult,
  Entry,
  ListOptions,
  ListResult,
  ReadVersion,
  ResourceEvent,
  ResourceStorage,
  ResourceWatch,
  ResourceWatchOptions,
} from '#storage/resource-storage.js';

export class EmptyStorage implements ResourceStorage {
  readonly prefix: string;
  readonly #resource: Qualified;

  constructor(resource: Qualified) {
    this.#resource = resource;
    this.prefix = `/${resource.resource}/`;
  }

  ready(): boolean {
    return true;
  }

  async waitReady(): Promise<void> {
    // There is no cache to fill.
  }

  async get(_key: string, _version: ReadVersion, _signal?: AbortSignal): Promise<Entry | undefined> {
    return undefined;
  }

  async list(_options: ListOptions): Promise<ListResult> {
    return { entries: [], revision: 1n };
  }

  cached(): undefined {
    return undefined;
  }

  cachedIn(): readonly Entry[] {
    return [];
  }

  watch({ signal }: ResourceWatchOptions): ResourceWatch {
    return {
      opened: () => Promise.resolve(),
      requestBookmark: () => undefined,
      follow: (listener) => {
        const end = () => listener.ended();
        if (signal.aborted) end();
        else signal.addEventListener('abort', end, { once: true });
      },
      resume: () => undefined,
      async *[Symbol.asyncIterator](): AsyncGenerator<readonly ResourceEvent[]> {
        yield [];
        if (signal.aborted) return;
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      },
    };
  }

  async create(): Promise<Entry | undefined> {
    throw methodNotAllowed(this.#resource, 'create');
  }

  async update(): Promise<ConditionalResult> {
    throw methodNotAllowed(this.#resource, 'update');
  }

  companionUpdate(): CompanionUpdate {
    throw methodNotAllowed(this.#resource, 'update');
  }

  async delete(): Promise<ConditionalResult> {
    throw methodNotAllowed(this.#resource, 'delete');
  }
}
