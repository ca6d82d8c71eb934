/** The API server with workers that can be held by a request, and that die when the process gets SIGUSR2. */
import { Worker } from 'node:worker_threads';
import { workerLimits } from '#apiserver/workers/worker-pool.js';
import { apiServerProgram } from '#cmd/orch-apiserver/program.js';
import { guard } from '#daemon/process/guarded-process.js';
import { run } from '#daemon/run.js';

const guarded = guard(process);
const workers: Worker[] = [];
process.on('SIGUSR2', () => void workers.shift()?.terminate());
const program = apiServerProgram(guarded, (workerData, transferList) => {
  const worker = new Worker(new URL('./held-worker.js', import.meta.url), {
    argv: process.argv.slice(2),
    workerData,
    transferList: [...transferList],
    resourceLimits: workerLimits,
  });
  workers.push(worker);
  return worker;
});
process.exitCode = await run(program, guarded);
