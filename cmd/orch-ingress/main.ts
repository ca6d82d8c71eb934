import { ingressProgram } from '#cmd/orch-ingress/program.js';
import { guard } from '#daemon/process/guarded-process.js';
import { run } from '#daemon/run.js';

const guarded = guard(process);
process.exitCode = await run(ingressProgram(guarded), guarded);
