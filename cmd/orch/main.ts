import { dispatch } from '#cmd/orch/dispatch.js';
import { down } from '#cmd/orch/down.js';
import { up } from '#cmd/orch/up.js';
import { guard } from '#daemon/process/guarded-process.js';

const guarded = guard(process);
process.exitCode = await dispatch(
  {
    up: (argv) => up(argv, guarded),
    down,
    join: async (argv) => (await import('#cmd/orch/join.js')).join(argv, guarded),
    leave: async (argv) => (await import('#cmd/orch/leave.js')).leave(argv),
    install: async (argv) => (await import('#cmd/orch/install.js')).install(argv),
    uninstall: async (argv) => (await import('#cmd/orch/install.js')).uninstall(argv),
    certificates: async (argv) => (await import('#cmd/orch/hosted/certificates.js')).certificates(argv),
    publish: async (argv) => (await import('#cmd/orch/hosted/publish.js')).publish(argv),
    backup: async (argv) => (await import('#cmd/orch/backup/command.js')).backup(argv),
    etcd: async (argv) => (await import('#cmd/orch/store/command.js')).etcd(argv),
    certs: async (argv) => (await import('#cmd/orch/certs.js')).certs(argv),
    observe: async (argv) => (await import('#cmd/orch/observe/command.js')).observe(argv),
    upgrade: async (argv) =>
      (await import('#cmd/orch/upgrade/command.js')).upgrade(argv, {
        startAgain: async (subcommand, args) => {
          if (subcommand === 'join') await (await import('#cmd/orch/join.js')).join([...args, '--detach'], guarded);
          else await up([...args, '--detach'], guarded);
        },
      }),
    token: async (argv) => (await import('#cmd/orch/members/token-command.js')).token(argv),
    serve: async (argv) => (await import('#cmd/orch/serve.js')).serve(argv, guarded),
  },
  process.argv.slice(2),
);
