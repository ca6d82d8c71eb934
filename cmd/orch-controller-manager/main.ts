import { setFlagsFromString } from 'node:v8';
import { controllerManagerProgram } from '#cmd/orch-controller-manager/program.js';
import { guard } from '#daemon/process/guarded-process.js';
import { run } from '#daemon/run.js';

// Caches are most of the heap and live long. V8 lets a heap grow to up to four times of what lives before it collects what
// lived for a while; as much again costs little time here.
setFlagsFromString('--heap-growing-percent=100');
const guarded = guard(process);
process.exitCode = await run(controllerManagerProgram(guarded), guarded);
