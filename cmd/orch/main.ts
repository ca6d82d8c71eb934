import { dispatch } from '#cmd/orch/dispatch.js';
import { down } from '#cmd/orch/down.js';
import { serve } from '#cmd/orch/serve.js';
import { up } from '#cmd/orch/up.js';

process.exitCode = await dispatch({ up, down, serve }, process.argv.slice(2));
