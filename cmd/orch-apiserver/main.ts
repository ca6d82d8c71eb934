#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8';
import { apiServerProgram } from '#cmd/orch-apiserver/program.js';
import { forkingWorkers, runWorker, workerPlace } from '#cmd/orch-apiserver/worker-process.js';
import { limitHeapGrowth } from '#daemon/memory/node-flags.js';
import { guard } from '#daemon/process/guarded-process.js';
import { run } from '#daemon/run.js';

// V8's optimizing compiler uses as much CPU as the first thousands of requests, mostly for inlining. Inlining half as much speeds up
// the first thousand writes and hardly affects later ones.
setFlagsFromString('--max-inlined-bytecode-size-cumulative=400');
limitHeapGrowth();

const guarded = guard(process);
const place = workerPlace(process.env);
if (place === undefined) process.exitCode = await run(apiServerProgram(guarded, forkingWorkers()), guarded);
// Exit explicitly: the channel to the supervisor would keep the process running.
else process.exit(await runWorker(guarded, place));
