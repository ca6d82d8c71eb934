import { dispatch } from '#cmd/orch/dispatch.js';
import { down } from '#cmd/orch/down.js';
import { up } from '#cmd/orch/up.js';

// A reader that has gone away (`| head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

process.exitCode = await dispatch(
  { up, down, serve: async (argv) => (await import('#cmd/orch/serve.js')).serve(argv) },
  process.argv.slice(2),
);
