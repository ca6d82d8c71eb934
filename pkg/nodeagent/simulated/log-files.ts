/** In-memory logs of simulated containers, in the runtimes' format. */
import type { LogFile, LogFiles } from '#nodeagent/logs/log-files.js';

/** Endless logs keep only their newest lines. */
const maxBytes = 64 * 1024;

interface MemoryLog {
  readonly identity: string;
  text: Buffer;
  /** Bytes dropped from the start; offsets still include them. */
  dropped: number;
}

export class SimulatedLogFiles implements LogFiles {
  readonly #files = new Map<string, MemoryLog>();
  readonly #watchers = new Map<string, Set<() => void>>();
  #next = 0;

  /** Adds one line. `time`: RFC 3339 with nanoseconds. */
  append(path: string, line: { time: string; stream: 'stdout' | 'stderr'; text: string }): void {
    let file = this.#files.get(path);
    if (file === undefined) {
      file = { identity: String(this.#next++), text: Buffer.alloc(0), dropped: 0 };
      this.#files.set(path, file);
    }
    file.text = Buffer.concat([file.text, Buffer.from(`${line.time} ${line.stream} F ${line.text}\n`)]);
    if (file.text.length > maxBytes) {
      const cut = file.text.indexOf(10, file.text.length - maxBytes) + 1;
      file.text = file.text.subarray(cut);
      file.dropped += cut;
    }
    for (const notify of this.#watchers.get(path) ?? []) notify();
  }

  open(path: string): Promise<LogFile | undefined> {
    const file = this.#files.get(path);
    if (file === undefined) return Promise.resolve(undefined);
    return Promise.resolve({
      identity: file.identity,
      size: () => Promise.resolve(file.dropped + file.text.length),
      read: (offset, length) => {
        const start = Math.max(0, offset - file.dropped);
        return Promise.resolve(file.text.subarray(start, start + length));
      },
      close: () => Promise.resolve(),
    });
  }

  sizeOf(path: string): Promise<number | undefined> {
    const file = this.#files.get(path);
    return Promise.resolve(file && file.dropped + file.text.length);
  }

  watch(path: string, onChange: () => void): () => void {
    const watchers = this.#watchers.get(path) ?? new Set();
    this.#watchers.set(path, watchers.add(onChange));
    return () => {
      watchers.delete(onChange);
      if (watchers.size === 0) this.#watchers.delete(path);
    };
  }

  makeDirectory(): Promise<void> {
    return Promise.resolve();
  }

  list(directory: string): Promise<string[]> {
    const prefix = `${directory}/`;
    const beneath = [...this.#files.keys()].filter((path) => path.startsWith(prefix));
    return Promise.resolve([...new Set(beneath.map((path) => path.slice(prefix.length).split('/')[0] ?? ''))]);
  }

  rename(from: string, to: string): Promise<void> {
    const file = this.#files.get(from);
    if (file !== undefined) {
      this.#files.delete(from);
      this.#files.set(to, file);
    }
    return Promise.resolve();
  }

  remove(path: string): Promise<void> {
    for (const name of this.#files.keys()) {
      if (name === path || name.startsWith(`${path}/`)) this.#files.delete(name);
    }
    return Promise.resolve();
  }

  /** Number of logs; lets tests find leftovers. */
  get size(): number {
    return this.#files.size;
  }
}
