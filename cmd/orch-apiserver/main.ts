#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8';
import { apiServerProgram } from '#cmd/orch-apiserver/program.js';
import { forkingWorkers, runWorker, workerPlace } from '#cmd/orch-apiserver/worker-process.js';
import { limitHeapGrowth } from '#daemon/memory/node-flags.js';
import { guard } from '#daemon/process/guarded-process.js';
import { run } from '#daemon/run.js';

// V8's optimizing compiler runs beside the first thousands of requests and takes as much CPU as they do, mostly for functions
// that it copies into their callers. Copying half as much takes time off the first thousand writes, and hardly changes later ones.
setFlagsFromString('--max-inlined-bytecode-size-cumulative=400');
limitHeapGrowth();

const guarded = guard(process);
const place = workerPlace(process.env);
if (place === undefined) process.exitCode = await run(apiServerProgram(guarded, forkingWorkers()), guarded);
// Its channel to the supervisor would keep it running.
else process.exit(await runWorker(guarded, place));
