/** What of the product is executed meanwhile: files and functions, as V8 counts them. */
import { Session } from 'node:inspector/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Functions executed, by file below `dist/`. */
export type Executed = ReadonlyMap<string, readonly string[]>;

const dist = fileURLToPath(new URL('../../../', import.meta.url));
const product = /^(?:pkg|cmd)\//;

export class Coverage {
  readonly #session = new Session();

  async start(): Promise<void> {
    this.#session.connect();
    await this.#session.post('Profiler.enable');
    await this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  }

  /** What this thread executes until `work` resolves, timers and other requests with it. */
  async during(work: () => Promise<unknown>): Promise<Executed> {
    // Each taking sets the counts to zero.
    await this.#session.post('Profiler.takePreciseCoverage');
    await work();
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    const files = new Map<string, readonly string[]>();
    for (const { url, functions } of result) {
      if (!url.startsWith('file:')) continue;
      const file = relative(dist, fileURLToPath(url));
      if (!product.test(file)) continue;
      const names = functions
        .filter(({ ranges: [whole] }) => whole !== undefined && whole.count > 0)
        .map(({ functionName, ranges: [whole] }) => functionName || `(at ${whole?.startOffset})`);
      if (names.length > 0) files.set(file, names);
    }
    return files;
  }

  stop(): void {
    this.#session.disconnect();
  }
}

/** What every one of them has: what only some have is a timer's, or is work that another request has left over. */
export function inEach([first = new Map(), ...others]: readonly Executed[]): Executed {
  const shared = [...first].map(([file, names]) => {
    const kept = names.filter((name: string) => others.every((other) => other.get(file)?.includes(name) === true));
    return [file, kept] as const;
  });
  return new Map(shared.filter(([, names]) => names.length > 0));
}
