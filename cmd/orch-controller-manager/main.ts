import { controllerManagerProgram } from '#cmd/orch-controller-manager/program.js';
import { normalizeSpelling } from '#controllers/options/spelling.js';
import { run } from '#daemon/run.js';

process.argv = normalizeSpelling(process.argv);
process.exitCode = await run(controllerManagerProgram(process), process);
