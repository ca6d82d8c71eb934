import { schedulerProgram } from '#cmd/orch-scheduler/program.js';
import { run } from '#daemon/run.js';

process.exitCode = await run(schedulerProgram(process), process);
