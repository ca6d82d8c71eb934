import { setFlagsFromString } from 'node:v8';
import { schedulerProgram } from '#cmd/orch-scheduler/program.js';
import { guard } from '#daemon/process/guarded-process.js';
import { run } from '#daemon/run.js';

// Caches are most of the heap and live long. V8 lets a heap grow to up to four times of what lives before it collects what
// lived for a while. With this the scheduler of 5,000 nodes and 10,000 pods is a seventh smaller.
setFlagsFromString('--heap-growing-percent=100');
const guarded = guard(process);
process.exitCode = await run(schedulerProgram(guarded), guarded);
