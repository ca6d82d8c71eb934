/** A client that watches config maps and resumes whenever its connection ends. */
import type { ServerProcess } from '#test/integration/apiserver/workers/program.js';

interface WatchEvent {
  readonly type: string;
  readonly object: {
    readonly code?: number;
    readonly metadata: { readonly name: string; readonly resourceVersion: string };
    readonly data?: { readonly value: string };
  };
}

export class ResumingWatch {
  readonly #server: ServerProcess;
  readonly #path: string;
  /** Events received, in order: `ADDED a=1@17`. */
  readonly events: string[] = [];
  /** Connections so far. */
  connections = 0;
  #version: string;
  #stopped = false;
  #cut: (() => void) | undefined;

  constructor(server: ServerProcess, path: string, version: string) {
    this.#server = server;
    this.#path = path;
    this.#version = version;
  }

  /** Runs until it is stopped. Rejects if it cannot resume. */
  async run(): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#follow();
      } catch (error) {
        if (error instanceof Refused) throw error;
        // The connection broke off or could not be opened.
      }
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#cut?.();
  }

  async #follow(): Promise<void> {
    const response = await this.#server.open(`${this.#path}?watch=true&resourceVersion=${this.#version}`);
    this.#cut = () => response.destroy();
    if (this.#stopped) return response.destroy() && undefined;
    if (response.statusCode === 410) throw new Refused('its history is gone');
    if (response.statusCode !== 200) return response.destroy() && undefined;
    this.connections++;
    let rest = '';
    for await (const part of response.setEncoding('utf8')) {
      const lines = (rest + String(part)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#take(JSON.parse(line) as WatchEvent);
    }
  }

  #take({ type, object }: WatchEvent): void {
    if (type === 'ERROR')
      throw object.code === 410 ? new Refused('its history is gone') : new Error('the watch failed');
    this.#version = object.metadata.resourceVersion;
    if (type === 'BOOKMARK') return;
    this.events.push(`${type} ${object.metadata.name}=${object.data?.value}@${this.#version}`);
  }
}

class Refused extends Error {}
