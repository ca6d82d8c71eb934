#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8';
import { apiServerProgram } from '#cmd/orch-apiserver/program.js';
import { forkingWorkers, runWorker, workerPlace } from '#cmd/orch-apiserver/worker-process.js';
import { limitHeapGrowth } from '#daemon/memory/heap-growth.js';
import { guard } from '#daemon/process/guarded-process.js';
import { run } from '#daemon/run.js';

// V8's optimizing compiler runs beside the first thousands of requests and takes as much CPU as they do, mostly for functions
// that it copies into their callers, and for some that hardly run again. Copying half as much, and waiting four times as long,
// takes a third off the first thousand writes, and hardly changes later ones. Newer releases wait for longer themselves.
setFlagsFromString('--max-inlined-bytecode-size-cumulative=400');
if (process.versions.v8.startsWith('11.')) setFlagsFromString('--interrupt-budget=270336');
limitHeapGrowth();

const guarded = guard(process);
const place = workerPlace(process.env);
if (place === undefined) process.exitCode = await run(apiServerProgram(guarded, forkingWorkers()), guarded);
// Its channel to the supervisor would keep it running.
else process.exit(await runWorker(guarded, place));
