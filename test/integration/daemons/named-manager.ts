/** The controller manager with the name in its first argument, which the server records as the manager of written fields. */
import { controllerManagerProgram } from '#cmd/orch-controller-manager/program.js';
import { run } from '#daemon/run.js';

const [name = ''] = process.argv.splice(2, 1);
const program = controllerManagerProgram(process);
process.exitCode = await run(
  {
    ...program,
    create: (context) => {
      const { dialect } = context;
      const components = { ...dialect.components, controllerManager: name };
      return program.create({ ...context, dialect: { ...dialect, components } });
    },
  },
  process,
);
