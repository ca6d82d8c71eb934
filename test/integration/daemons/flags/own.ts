/** Refusals of our daemons for a command line of release 1.24: the daemons are created, but not started. */
import { EventEmitter } from 'node:events';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { nodeAgentProgram } from '#cluster/node-agent/program.js';
import { apiServerProgram } from '#cmd/orch-apiserver/program.js';
import { controllerManagerProgram } from '#cmd/orch-controller-manager/program.js';
import { schedulerProgram } from '#cmd/orch-scheduler/program.js';
import type { OptionTable } from '#daemon/options/option.js';
import { type Program, type ProgramProcess, run } from '#daemon/run.js';
import type { DaemonName } from '#test/integration/daemons/flags/cases.js';

class SilentProcess extends EventEmitter implements ProgramProcess {
  readonly argv: readonly string[];
  readonly env = {};
  readonly pid = 7;
  readonly stdout = { write: () => {} };
  readonly stderr = {
    write: (text: string) => {
      this.text += text;
    },
  };
  text = '';

  constructor(argv: readonly string[]) {
    super();
    this.argv = ['node', 'main', ...argv];
  }

  exit(): void {}
}

/** Error that ends a program after it accepted its command line. */
const acceptedMessage = 'the command line was taken';

/** The words of the refusal; undefined where the daemon would start. Several are written as 1.24 joins them. */
export async function ownRefusal(daemon: DaemonName, args: readonly string[]): Promise<string | undefined> {
  const facts = { ...process, memoryUsage: process.memoryUsage, cpuUsage: process.cpuUsage };
  const refused = (program: Program<never>) => refusal(program as unknown as Program<OptionTable>, args);
  switch (daemon) {
    case 'kube-apiserver':
      return refused(
        apiServerProgram(facts as never, () => {
          throw new Error('no workers');
        }) as unknown as Program<never>,
      );
    case 'kube-controller-manager':
      return refused(controllerManagerProgram(facts as never) as unknown as Program<never>);
    case 'kube-scheduler':
      return refused(schedulerProgram(facts as never) as unknown as Program<never>);
    case 'kubelet':
      return refused(nodeAgentProgram(facts as never) as unknown as Program<never>);
    default:
      return daemon satisfies never;
  }
}

async function refusal(program: Program<OptionTable>, args: readonly string[]): Promise<string | undefined> {
  const own = new SilentProcess([`--dialect=${kubernetesDialect.name}`, ...args]);
  await run(
    {
      ...program,
      create: async (context) => {
        await program.create(context);
        throw new Error(acceptedMessage);
      },
    },
    own,
  );
  const messages = own.text.split('\n').flatMap((line) => (line.startsWith('Error: ') ? [line.slice(7)] : []));
  if (messages.includes(acceptedMessage)) return undefined;
  return messages.length === 1 ? messages[0] : `[${messages.join(', ')}]`;
}
