import { controllerManagerProgram } from '#cmd/orch-controller-manager/program.js';
import { guard } from '#daemon/process/guarded-process.js';
import { run } from '#daemon/run.js';

const guarded = guard(process);
process.exitCode = await run(controllerManagerProgram(guarded), guarded);
