/**
 * Fuzzes the decoders: `[--seconds N] [--seed N] [json|protobuf …]`. Prints the seed first; ends with 1 and the input that
 * was at fault. Each format runs in a thread of its own process-wide watch: an input that is never answered is told, too.
 */
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { realClock } from '#apimachinery/clock.js';
import { type Format, fuzz } from '#test/fuzz/codec.js';

interface Job {
  readonly format: Format;
  readonly seed: number;
  readonly seconds: number;
  /** One number: inputs so far. */
  readonly progress: SharedArrayBuffer;
}

/** Inputs take milliseconds: one that takes this long never ends. */
const patienceMs = 30_000;
/** Of the thread that decodes: what it keeps beyond inputs and samples is a leak. */
const maxHeapMiB = 256;

if (isMainThread) process.exitCode = await main();
else work(workerData as Job);

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: { seconds: { type: 'string', default: '600' }, seed: { type: 'string' } },
    allowPositionals: true,
  });
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  const seconds = Number(values.seconds);
  const formats = (['protobuf', 'json'] as const).filter((f) => positionals.length === 0 || positionals.includes(f));
  if (formats.length === 0 || !(seconds > 0) || !Number.isInteger(seed)) {
    process.stderr.write('usage: fuzz [--seconds N] [--seed N] [json|protobuf …]\n');
    return 2;
  }
  for (const format of formats) {
    process.stdout.write(`${format}: ${seconds} s, --seed ${seed}\n`);
    const problem = await run({ format, seed, seconds, progress: new SharedArrayBuffer(8) });
    if (problem !== undefined) {
      process.stdout.write(`${format}: ${problem}\n`);
      return 1;
    }
  }
  return 0;
}

/** What went wrong, undefined when nothing did. */
function run(job: Job): Promise<string | undefined> {
  return new Promise((resolve) => {
    const worker = new Worker(new URL(import.meta.url), {
      workerData: job,
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMiB },
    });
    const inputs = new BigInt64Array(job.progress);
    let seen = -1n;
    const watch = setInterval(() => {
      const now = Atomics.load(inputs, 0);
      if (now === seen) finish(`input ${now} has no end`);
      seen = now;
    }, patienceMs);
    const finish = (problem: string | undefined) => {
      clearInterval(watch);
      resolve(problem);
      void worker.terminate();
    };
    worker.on('message', (line: string) => process.stdout.write(`${job.format}: ${line}\n`));
    worker.on('error', (error) => finish(`${error.stack ?? String(error)}\n${String(error.cause ?? '')}`));
    worker.on('exit', () => finish(undefined));
  });
}

function work({ format, seed, seconds, progress }: Job): void {
  const count = new BigInt64Array(progress);
  const { inputs, refused, slowest } = fuzz({
    format,
    seed,
    milliseconds: seconds * 1000,
    clock: realClock,
    onInput: (n) => Atomics.store(count, 0, BigInt(n)),
  });
  const heap = Math.round(process.memoryUsage().heapUsed / 2 ** 20);
  parentPort?.postMessage(`${inputs} inputs, ${refused} refused, slowest ${slowest.toFixed(1)} ms, heap ${heap} MiB`);
}
