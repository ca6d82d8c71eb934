import { commandsOf, dispatch } from '#cmd/orch/commands.js';
import { guard } from '#daemon/process/guarded-process.js';

process.exitCode = await dispatch(commandsOf(guard(process)), process.argv.slice(2));
