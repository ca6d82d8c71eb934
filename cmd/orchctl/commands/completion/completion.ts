/** `completion`: scripts for shells, and the hidden command that they call. */
import type { Command, Listed } from '#cmd/orchctl/commands/command.js';
import { scripts } from '#cmd/orchctl/commands/completion/scripts.js';
import { UsageError } from '#cmd/orchctl/terminal/errors.js';

export const completion: Command = {
  name: 'completion',
  usage: '(bash | zsh | fish)',
  summary: 'Print the script with which a shell completes command lines',
  examples: ['source <(orchctl completion bash)', 'orchctl completion fish | source'],
  options: {},
  offline: true,
  run: async ({ args, out }) => {
    const [shell, more] = args;
    if (shell === undefined) throw new UsageError('Shell not specified.');
    if (more !== undefined) throw new UsageError('Too many arguments. Expected only the shell type.');
    const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
    if (script === undefined) {
      throw new UsageError(
        `Unsupported shell type ${JSON.stringify(shell)}: use one of ${Object.keys(scripts).join(', ')}.`,
      );
    }
    out.write(script);
    return 0;
  },
};

/** Longest wait for names from the cluster. */
const limitMs = 3000;

/** Prints a line for each word that fits: the word, and behind a tab what it means. Failures print nothing. */
export function completer(commands: readonly Listed[]): Command {
  return {
    name: '__complete',
    usage: '-- WORD…',
    summary: 'Print what completes a command line',
    examples: [],
    options: {},
    async run(invocation) {
      const { candidates } = await import('#cmd/orchctl/commands/completion/candidates.js');
      const names = candidates(commands, invocation.trailing, withNamespace(invocation)).catch(() => []);
      const limit = invocation.clock.sleep(limitMs, invocation.signal).then(() => [] as Awaited<typeof names>);
      for (const { word, meaning } of await Promise.race([names, limit])) {
        invocation.out.write(meaning === '' ? `${word}\n` : `${word}\t${meaning}\n`);
      }
      return 0;
    },
  };
}

/** Flags of the completed line select the namespace. */
function withNamespace<T extends { readonly trailing: readonly string[]; readonly namespace: string }>(
  invocation: T,
): T {
  const { trailing } = invocation;
  const at = trailing.findIndex((word) => word === '-n' || word === '--namespace');
  const attached = trailing.find((word) => word.startsWith('--namespace='))?.slice('--namespace='.length);
  const namespace = attached ?? (at >= 0 && at + 2 < trailing.length ? trailing[at + 1] : undefined);
  if (namespace === undefined) return invocation;
  // The API of the invocation is a getter, which a copy would call.
  return Object.create(invocation, { namespace: { value: namespace } }) as T;
}
