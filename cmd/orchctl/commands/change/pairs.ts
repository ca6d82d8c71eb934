/** `TYPE NAME… KEY=VALUE… KEY-…`: the arguments of commands that set and remove pairs. Pure. */
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

export interface SplitArguments {
  readonly resources: readonly string[];
  readonly pairs: readonly string[];
}

/** @param what `label`. Throws a CommandError for a resource after the pairs. */
export function splitArguments(args: readonly string[], what: string): SplitArguments {
  const isPair = (text: string) =>
    (text.includes('=') && !text.startsWith('=')) || (text.endsWith('-') && text !== '-');
  const first = args.findIndex(isPair);
  if (first < 0) return { resources: args, pairs: [] };
  const late = args.slice(first).find((arg) => !isPair(arg));
  if (late !== undefined) throw new CommandError(`all resources must be specified before ${what} changes: ${late}`);
  return { resources: args.slice(0, first), pairs: args.slice(first) };
}
