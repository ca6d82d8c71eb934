#!/usr/bin/env node
import { apiServerProgram } from '#cmd/orch-apiserver/program.js';
import { forkingWorkers, runWorker, workerPlace } from '#cmd/orch-apiserver/worker-process.js';
import { guard } from '#daemon/process/guarded-process.js';
import { run } from '#daemon/run.js';

const guarded = guard(process);
const place = workerPlace(process.env);
if (place === undefined) process.exitCode = await run(apiServerProgram(guarded, forkingWorkers()), guarded);
// Exit explicitly: the channel to the supervisor would keep the process running.
else process.exit(await runWorker(guarded, place));
