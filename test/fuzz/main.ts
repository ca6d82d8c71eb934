/**
 * Fuzzes the targets in `targets.ts`: `[--seconds N] [--seed N] [TARGET …]`. Prints the seed first; exits with 1 and
 * the failing input. Each target runs in its own monitored thread, so that hanging inputs are reported too.
 */
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import type { FuzzTarget } from '#test/fuzz/target.js';
import { targets } from '#test/fuzz/targets.js';

interface Job {
  readonly name: string;
  readonly seed: number;
  readonly seconds: number;
  /** A single number: inputs so far. */
  readonly progress: SharedArrayBuffer;
}

/** Inputs take milliseconds: one that takes this long hangs. */
const hangTimeoutMs = 30_000;

if (isMainThread) process.exitCode = await main();
else await work(workerData as Job);

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: { seconds: { type: 'string', default: '600' }, seed: { type: 'string' } },
    allowPositionals: true,
  });
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  const seconds = Number(values.seconds);
  const names = targets.map(({ name }) => name);
  if (positionals.some((name) => !names.includes(name)) || !(seconds > 0) || !Number.isInteger(seed)) {
    process.stderr.write(`usage: fuzz [--seconds N] [--seed N] [${names.join('|')} …]\n`);
    return 2;
  }
  for (const target of targets) {
    const { name } = target;
    if (positionals.length > 0 && !positionals.includes(name)) continue;
    process.stdout.write(`${name}: ${seconds} s, --seed ${seed}\n`);
    const problem = await run(target, { name, seed, seconds, progress: new SharedArrayBuffer(8) });
    if (problem !== undefined) {
      process.stdout.write(`${name}: ${problem}\n`);
      return 1;
    }
  }
  return 0;
}

/** The failure; undefined if there is none. */
function run({ maxHeapMiB }: FuzzTarget, job: Job): Promise<string | undefined> {
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
    }, hangTimeoutMs);
    const problems: string[] = [];
    const finish = (problem: string | undefined) => {
      clearInterval(watch);
      resolve(problem ?? (problems.length === 0 ? undefined : problems.join('\n')));
      void worker.terminate();
    };
    worker.on('message', (report: Awaited<ReturnType<FuzzTarget['run']>>) => {
      process.stdout.write(`${job.name}: ${report.summary}\n`);
      problems.push(...report.problems);
    });
    worker.on('error', (error) => finish(`${error.stack ?? String(error)}\n${String(error.cause ?? '')}`));
    worker.on('exit', () => finish(undefined));
  });
}

async function work({ name, seed, seconds, progress }: Job): Promise<void> {
  const count = new BigInt64Array(progress);
  const target = targets.find((each) => each.name === name);
  const onInput = (inputs: number) => Atomics.store(count, 0, BigInt(inputs));
  parentPort?.postMessage(await target?.run({ seed, milliseconds: seconds * 1000, onInput }));
}
