import { schedulerProgram } from '#cmd/orch-scheduler/program.js';
import { guard } from '#daemon/process/guarded-process.js';
import { run } from '#daemon/run.js';

const guarded = guard(process);
process.exitCode = await run(schedulerProgram(guarded), guarded);
