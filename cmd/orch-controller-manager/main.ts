import { controllerManagerProgram } from '#cmd/orch-controller-manager/program.js';
import { run } from '#daemon/run.js';

process.exitCode = await run(controllerManagerProgram(process), process);
