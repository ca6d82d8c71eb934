import { setFlagsFromString } from 'node:v8';
import { nodeAgentProgram } from '#cluster/node-agent/program.js';
import { guard } from '#daemon/process/guarded-process.js';
import { run } from '#daemon/run.js';

// The young generation would grow to 48 MB in the first burst of pods, and stay. At its initial size it is collected
// more often, and contains hardly any of the agent's few long-lived objects.
setFlagsFromString('--semi-space-growth-factor=1');
// The agent creates little garbage, which one thread collects faster than several that need to synchronize.
setFlagsFromString('--no-parallel-scavenge');
// The agent collects garbage itself once after a busy time. V8 would do it twice more in small steps.
setFlagsFromString('--no-memory-reducer');
// Most of the compiled code is for starts; what the next pod needs is compiled again in milliseconds.
setFlagsFromString('--bytecode-old-age=2');
const guarded = guard(process);
process.exitCode = await run(nodeAgentProgram(guarded), guarded);
