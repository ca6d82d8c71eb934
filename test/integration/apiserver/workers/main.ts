/** The API server with workers that a request can stop, and that die when the supervisor receives SIGUSR2. */
import { writeSync } from 'node:fs';
import type { SpawnWorker, WorkerProcess } from '#apiserver/workers/supervisor.js';
import { apiServerProgram } from '#cmd/orch-apiserver/program.js';
import { forkingWorkers, runWorker, workerPlace } from '#cmd/orch-apiserver/worker-process.js';
import { guard } from '#daemon/process/guarded-process.js';
import { run } from '#daemon/run.js';

const standardError = 2;

const guarded = guard(process);
const place = workerPlace(process.env);
if (place === undefined) {
  const workers: WorkerProcess[] = [];
  process.on('SIGUSR2', () => workers.shift()?.kill());
  const fork = forkingWorkers();
  const spawn: SpawnWorker = (at) => {
    const worker = fork(at);
    workers.push(worker);
    return worker;
  };
  process.exitCode = await run(apiServerProgram(guarded, spawn), guarded);
} else {
  const code = await runWorker(guarded, place, {
    '/planted/hold': async ({ info }) => {
      writeSync(standardError, 'holding\n');
      const end = performance.now() + Number(info.query.get('ms'));
      while (performance.now() < end);
      return { status: 200, headers: { 'content-type': 'text/plain' }, body: Buffer.from('held\n') };
    },
  });
  process.exit(code);
}
