import { schedulerProgram } from '#cmd/orch-scheduler/program.js';
import { limitHeapGrowth } from '#daemon/memory/node-flags.js';
import { guard } from '#daemon/process/guarded-process.js';
import { run } from '#daemon/run.js';

limitHeapGrowth();
const guarded = guard(process);
process.exitCode = await run(schedulerProgram(guarded), guarded);
