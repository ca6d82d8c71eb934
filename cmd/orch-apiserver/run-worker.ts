/** Runs a worker of the API server in the present thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { apiServerWorkerProgram, type WorkerThread } from '#cmd/orch-apiserver/program.js';
import { guard } from '#daemon/process/guarded-process.js';
import { type ProgramProcess, run } from '#daemon/run.js';

/** Ends the thread when its work has ended. `paths`: answers at further paths, for tests. */
export async function runWorker(paths: NonNullable<WorkerThread['paths']> = {}): Promise<void> {
  if (parentPort === null) throw new TypeError('this is a part of the API server, not a program');
  const guarded = guard(process);
  const stopping = new AbortController();
  const program = apiServerWorkerProgram(guarded, {
    data: workerData,
    port: parentPort,
    stop: () => stopping.abort(),
    paths,
  });
  // The process's signals are for the main thread, which says what they mean.
  const thread: ProgramProcess = {
    ...guarded,
    on: (_signal, listener) => {
      if (stopping.signal.aborted) queueMicrotask(listener);
      else stopping.signal.addEventListener('abort', listener);
    },
    off: (_signal, listener) => stopping.signal.removeEventListener('abort', listener),
  };
  const code = await run(program, thread);
  // Its last lines are written by the main thread.
  await new Promise<void>((resolve) => process.stderr.write('', () => resolve()));
  process.exit(code);
}
