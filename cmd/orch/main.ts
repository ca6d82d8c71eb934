import { dispatch } from '#cmd/orch/dispatch.js';
import { down } from '#cmd/orch/down.js';
import { up } from '#cmd/orch/up.js';
import { guard } from '#daemon/process/guarded-process.js';

const guarded = guard(process);
process.exitCode = await dispatch(
  {
    up: (argv) => up(argv, guarded),
    down,
    certificates: async (argv) => (await import('#cmd/orch/hosted/certificates.js')).certificates(argv),
    serve: async (argv) => (await import('#cmd/orch/serve.js')).serve(argv, guarded),
  },
  process.argv.slice(2),
);
