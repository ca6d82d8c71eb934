import { setFlagsFromString } from 'node:v8';
import { nodeAgentProgram } from '#cluster/node-agent/program.js';
import { limitHeapGrowth } from '#daemon/memory/node-flags.js';
import { guard } from '#daemon/process/guarded-process.js';
import { run } from '#daemon/run.js';

limitHeapGrowth();
// The room for what is new would grow to 48 MB with the first burst of pods, and stay. At the size that it has, it is
// emptied more often, and of the little that an agent needs for long hardly anything is in it then.
setFlagsFromString('--semi-space-growth-factor=1');
// What an agent leaves behind is little, and is swept up by one thread in less time than several take to agree on it.
setFlagsFromString('--no-parallel-scavenge');
// After a busy time the agent collects by itself, once. V8 would do it twice more, bit by bit, while nothing happens.
setFlagsFromString('--no-memory-reducer');
const guarded = guard(process);
process.exitCode = await run(nodeAgentProgram(guarded), guarded);
