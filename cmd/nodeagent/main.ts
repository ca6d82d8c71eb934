import { nodeAgentProgram } from '#cmd/nodeagent/program.js';
import { run } from '#daemon/run.js';

process.exitCode = await run(nodeAgentProgram(process), process);
